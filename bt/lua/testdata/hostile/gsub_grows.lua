-- It substitutes a long string for each letter.
return (("x"):rep(100000)):gsub("x", ("y"):rep(100000))
