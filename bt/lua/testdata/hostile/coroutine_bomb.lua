-- It makes coroutines that make coroutines.
local function f() while true do coroutine.resume(coroutine.create(f)) end end
f()
