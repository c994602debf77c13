-- It loops in a finalizer.
for i = 1, 1000 do setmetatable({}, { __gc = function() while true do end end }) end
