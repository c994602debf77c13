-- A list with a name in it.
BT.action("x", { fn = "f", args = { a = { 1, 2, b = 3 } } })
