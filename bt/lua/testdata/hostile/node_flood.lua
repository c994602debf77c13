-- It describes nodes for ever.
while true do BT.inverter(BT.action("x", { fn = "f" })) end
