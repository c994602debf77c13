-- It finds nothing, everywhere, for ever.
while true do for _ in (("x"):rep(1000)):gmatch("()") do end end
