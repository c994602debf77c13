-- It takes away what it is watched by.
local all, pcall = _G, pcall
for name in pairs(all) do all[name] = nil end
local _ENV = {}
while true do pcall(function() while true do x = 1 end end) end
