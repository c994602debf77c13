-- It loops when a variable is closed.
local x <close> = setmetatable({}, { __close = function() while true do end end })
error("close it")
