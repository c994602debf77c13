-- It compares a long capture again and again.
return (("a"):rep(2000000)):match("^(a*)%1b$")
