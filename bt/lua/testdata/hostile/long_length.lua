-- It asks for the length of a list that is none.
local t = {}
for i = 100000, 1, -1 do t[i] = i end
while true do local n = #t end
