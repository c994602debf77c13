-- It runs for ever.
while true do end
