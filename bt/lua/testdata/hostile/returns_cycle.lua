-- It returns a table that is in itself.
local t = {}
t.t = t
return t
