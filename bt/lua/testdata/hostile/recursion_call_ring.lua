-- It is called by __call that is called by __call.
local a, b = {}, {}
setmetatable(a, { __call = b })
setmetatable(b, { __call = a })
return a()
