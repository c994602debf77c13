-- It describes a tree that is small, and has 2^60 nodes.
local n = BT.action("x", { fn = "f" })
for i = 1, 60 do n = BT.sequence({ n, n }) end
BT.tree("t", { root = n })
