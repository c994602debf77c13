-- It replaces the methods of strings.
getmetatable("").__index = function() while true do end end
return ("x").y
