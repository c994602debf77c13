-- It matches a pattern that takes exponential time.
return (("a"):rep(100000)):find(".-.-.-.-.-.-.-.-.-.-b")
