-- A tree inside a tree.
local t = BT.tree("t", { root = BT.action("f", { fn = "f" }) })
BT.sequence({ t })
BT.sequence({ BT.subtree("s", { root = BT.action("f", { fn = "f" }) }) })
