-- It fills a table that can be no list.
local t, i = {}, 0
while true do i = i - 1 t[i] = i end
