-- It substitutes by a pattern that takes exponential time.
return (("a"):rep(30000)):gsub("a*a*a*a*a*a*b", "")
