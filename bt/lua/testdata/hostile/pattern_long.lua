-- It matches a pattern of a million parts.
return ("a"):find(("a?"):rep(500000))
