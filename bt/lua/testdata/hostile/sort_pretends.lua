-- It sorts a table that pretends to be long.
table.sort(setmetatable({}, { __len = function() return 1 << 39 end, __index = function(_, i) return -i end, __newindex = function() end }))
