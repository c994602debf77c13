-- It catches what ends its loop at several levels.
pcall(pcall, pcall, pcall, function() while true do end end)
while true do pcall(pcall, function() while true do end end) end
