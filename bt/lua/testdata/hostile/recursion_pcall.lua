-- It calls itself twice by pcall.
local function f() pcall(f) pcall(f) end
f()
