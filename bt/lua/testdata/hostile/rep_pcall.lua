-- It makes strings of half a gigabyte until one works.
while true do pcall(string.rep, "x", 512 * 1024 * 1024) end
