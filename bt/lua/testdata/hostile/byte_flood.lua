-- It takes a long string apart, and drops the parts.
local s = ("x"):rep(1000000)
while true do local a = s:byte(1, -1) end
