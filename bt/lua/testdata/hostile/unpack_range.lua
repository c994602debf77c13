-- It unpacks ranges that are not there.
pcall(table.unpack, {}, 1, math.maxinteger)
pcall(table.unpack, {}, math.mininteger, math.maxinteger)
while true do select("#", table.unpack({}, 1, 200)) end
