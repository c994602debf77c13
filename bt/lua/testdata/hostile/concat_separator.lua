-- It joins a short list by a long separator.
local t = {}
for i = 1, 10000 do t[i] = "" end
return table.concat(t, ("x"):rep(100000))
