-- A syntax error.
BT.tree("x", {
  root = BT.sequence({ step, 
)
