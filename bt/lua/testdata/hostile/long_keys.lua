-- It looks up long keys.
local t, a = {}, ("x"):rep(1000000)
for i = 1, 20 do t[i .. "----------"] = i end
while not t[a] do end
