-- It calls itself by metamethods of operators.
local meta = {}
local t = setmetatable({}, meta)
for _, name in ipairs({ "__add", "__concat", "__eq", "__lt", "__le", "__len", "__unm", "__call" }) do
  meta[name] = function(a) return (a + a) .. (a < a) .. #a .. -a end
end
return t + t
