-- A name that is nowhere defined.
local function make()
  return step.child
end
BT.tree("x", { root = make() })
