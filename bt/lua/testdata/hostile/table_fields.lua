-- It puts a table into a field of a table for ever.
local t = {}
while true do t = { field = t } end
