-- It calls metamethods in a loop of one line, in which the interpreter keeps what it has called.
local t = setmetatable({}, { __index = function() return 1 end, __len = function() return 1 end, __add = function() return 1 end })
while true do local x = t.a + #t + t.b + (t + t) + t.c + #t + (t + 1) + t.d end
