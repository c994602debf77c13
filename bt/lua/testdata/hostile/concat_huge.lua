-- It joins a list that pretends to be long.
return table.concat(setmetatable({}, { __len = function() return math.maxinteger end, __index = function() return "xxxxxxxx" end }))
