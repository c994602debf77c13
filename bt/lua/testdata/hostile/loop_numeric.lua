-- It counts by a step that changes nothing.
for i = 1.0, math.huge, 1e-300 do end
