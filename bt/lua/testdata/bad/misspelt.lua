-- A misspelt constructor, after something wrong.
BT.inverter()
BT.sequense({})
