-- A constant that is no number.
local x = 1
local y <const> = 2
y = 3
