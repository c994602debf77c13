-- It makes characters of many numbers.
local t = {}
while true do t[#t + 1] = utf8.char(0x10ffff, 0x7fffffff, 0x10ffff, 0x7fffffff) end
