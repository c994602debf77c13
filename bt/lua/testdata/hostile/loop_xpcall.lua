-- It loops in the handler of the error that ends its loop.
local function forever() while true do end end
while true do xpcall(forever, forever) end
