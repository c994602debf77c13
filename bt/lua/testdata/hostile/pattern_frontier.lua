-- It matches what takes no characters.
return (("ab"):rep(500000)):find(".*" .. ("%f[b]"):rep(900) .. "x")
