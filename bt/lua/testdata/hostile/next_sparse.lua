-- It goes through a table with holes.
local t = {}
for i = 1, 100000 do t[i] = i end
for i = 1, 99999 do t[i] = nil end
while true do next(t) end
