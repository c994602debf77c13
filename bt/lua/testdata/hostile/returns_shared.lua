-- It returns a table that is small, and has 2^90 elements.
local t = { 1 }
for i = 1, 90 do t = { t, t } end
return t
