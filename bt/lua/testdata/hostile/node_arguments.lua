-- It gives a node arguments that are in themselves.
local a = {}
a.a = a
BT.action("x", { fn = "f", args = a })
