-- It calls itself by __tostring.
local t = setmetatable({}, { __tostring = function(t) return tostring(t) end })
return tostring(t)
