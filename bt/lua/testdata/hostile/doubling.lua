-- It doubles a string for ever.
local s = "x"
while true do s = s .. s end
