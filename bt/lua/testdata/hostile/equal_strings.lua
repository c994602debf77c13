-- It compares long strings.
local a, b = ("x"):rep(1000000), ("x"):rep(1000000)
while a == b do end
