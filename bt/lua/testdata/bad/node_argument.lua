-- Values that no tree can have.
local f = BT.action("f", { fn = "f" })
BT.action("x", { fn = "f", args = { a = f } })
