-- It catches what ends its loop, and loops again.
while true do pcall(function() while true do end end) end
