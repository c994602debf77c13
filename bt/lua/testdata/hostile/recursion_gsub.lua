-- It substitutes in the function of a substitution.
local function f() return (("x"):gsub("x", f)) end
return f()
