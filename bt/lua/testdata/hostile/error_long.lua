-- It raises an error of a megabyte, with an escape sequence.
error("\27[2J\27]0;title\7" .. ("x"):rep(1000000))
