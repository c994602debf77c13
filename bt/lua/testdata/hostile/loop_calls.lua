-- It runs for ever by tail calls.
local function f() return f() end
f()
