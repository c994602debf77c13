-- It raises an error whose text loops.
error(setmetatable({}, { __tostring = function() while true do end end }))
