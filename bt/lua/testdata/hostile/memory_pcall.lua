-- It catches that its memory is used up, and takes more.
local kept = {}
while true do
  pcall(pcall, function() local s = "x" while true do s = s .. s kept[#kept + 1] = s end end)
end
