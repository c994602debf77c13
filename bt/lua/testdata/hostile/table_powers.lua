-- It fills tables to just above a power of two, where they take the most.
local all = {}
while true do
  local t = {}
  for i = 1, 129 do t[-i] = i end
  all[#all + 1] = t
end
