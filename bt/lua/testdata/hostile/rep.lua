-- It makes a string of half a gigabyte.
return ("x"):rep(512 * 1024 * 1024)
