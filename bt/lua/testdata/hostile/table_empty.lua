-- It makes empty tables, which the interpreter does not count.
local t = {}
while true do t[#t + 1] = {} end
