-- It gives a node a list of children that pretends to be long.
BT.tree("t", { root = BT.sequence(setmetatable({}, { __len = function() return 1 << 40 end, __index = function() while true do end end })) })
