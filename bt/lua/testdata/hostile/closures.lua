-- It makes functions that hold each other.
local f
while true do
  local x, g = {}, f
  f = function() return x, g end
end
