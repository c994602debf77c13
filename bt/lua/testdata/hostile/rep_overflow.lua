-- It makes a string whose length overflows.
return ("xx"):rep(math.maxinteger, "yy")
