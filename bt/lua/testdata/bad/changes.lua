-- A change of BT.
BT.sequence = nil
