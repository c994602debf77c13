-- It sorts by a metamethod, for each call of which the interpreter keeps something until the end.
local flip
local x = setmetatable({}, { __lt = function() flip = not flip return flip end })
local t = {}
for i = 1, 100000 do t[i] = x end
table.sort(t)
