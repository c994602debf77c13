-- It fills a list for ever.
local t = {}
while true do t[#t + 1] = true end
