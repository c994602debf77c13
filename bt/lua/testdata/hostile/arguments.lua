-- It calls with more and more arguments.
local function f(...) return f(1, ...) end
f()
