-- It raises errors when variables are closed, in a loop.
local meta = { __close = function() error("again") end }
while true do pcall(function() local a <close> = setmetatable({}, meta) error("first") end) end
