-- Values that no tree can have.
BT.action("x", { fn = "f", args = { a = 0 / 0 } })
