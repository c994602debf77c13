-- It moves a range that has no end.
return table.move({}, 1, math.maxinteger - 1, 2)
