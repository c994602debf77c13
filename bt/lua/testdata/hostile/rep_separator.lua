-- It makes a string of half a gigabyte out of separators.
return (""):rep(2 ^ 29 // 1 | 0, "x")
