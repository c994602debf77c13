-- It selects from many values, and drops them.
local function f(...) while true do local a = select(2, ...) end end
f((("x"):rep(100000)):byte(1, -1))
