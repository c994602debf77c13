-- No tree.
local x = 1
