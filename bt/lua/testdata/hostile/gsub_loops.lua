-- It loops in the function that gives a substitute.
return ("abc"):gsub("%w", function() while true do end end)
