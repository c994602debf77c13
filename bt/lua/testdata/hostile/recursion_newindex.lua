-- It calls itself by __newindex.
local t = setmetatable({}, { __newindex = function(t, k, v) t[k + 1] = v end })
t[1] = 1
