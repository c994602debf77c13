-- The table library, which does not look at metatables.
local function list(t) return table.concat(t, " ") end
local t = { 1, 2, 3 }
table.insert(t, 4)
table.insert(t, 1, 0)
table.insert(t, 6, 5)
assert(list(t) == "0 1 2 3 4 5")
assert(table.remove(t) == 5 and table.remove(t, 1) == 0 and list(t) == "1 2 3 4")
assert(table.remove({}) == nil and table.remove({}, 0) == nil and table.remove({ 1 }, 2) == nil)
assert(not pcall(table.insert, t, 9, 1) and not pcall(table.insert, t, 0, 1) and not pcall(table.remove, t, 9) and not pcall(table.insert, t))
assert(list(table.move({ 1, 2, 3 }, 1, 3, 2)) == "1 1 2 3")
assert(list(table.move({ 1, 2, 3 }, 2, 3, 1)) == "2 3 3")
assert(list(table.move({ 1, 2 }, 1, 2, 2, { 9 })) == "9 1 2")
assert(list(table.move({ 1, 2 }, 1, 0, 5)) == "1 2")
assert(not pcall(table.move, {}, 1, 10, math.maxinteger) and not pcall(table.move, {}, math.mininteger, math.maxinteger, 1))
assert(table.pack(1, nil, 3).n == 3 and select("#", table.unpack({ 1, nil, 3 }, 1, 3)) == 3 and select("#", table.unpack({}, 2, 1)) == 0)
assert(not pcall(table.unpack, {}, 1, 1e8) and not pcall(table.unpack, {}, math.mininteger, math.maxinteger))
assert(table.concat({ 1, 2.5, "x" }, ", ") == "1, 2.5, x" and table.concat({}, ",") == "" and table.concat({ 1, 2, 3 }, "-", 2, 3) == "2-3")
assert(not pcall(table.concat, { {} }) and not pcall(table.concat, { 1 }, "", 1, 2))
local words = { "pear", "apple", "fig" }
table.sort(words)
assert(list(words) == "apple fig pear")
table.sort(words, function(a, b) return #a < #b end)
assert(list(words) == "fig pear apple")
local many = {}
for i = 1, 1000 do many[i] = i * 7919 % 1009 end
table.sort(many, function(a, b) return a > b end)
for i = 2, 1000 do assert(many[i - 1] > many[i]) end
local things = {}
for i, n in ipairs({ 3, 1, 2 }) do things[i] = setmetatable({ n = n }, { __lt = function(a, b) return a.n < b.n end }) end
table.sort(things)
assert(things[1].n == 1 and things[3].n == 3)
assert(not pcall(table.sort, { 1, "x" }) and not pcall(table.sort, { 2, 1 }, function() error("no") end) and not pcall(table.sort, {}, 1))
assert(#table.pack(table.unpack(setmetatable({ 1, 2 }, { __len = function() return 99 end }))) == 2)
