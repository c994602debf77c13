-- It puts a table into a table for ever.
local t = {}
while true do t = { t } end
