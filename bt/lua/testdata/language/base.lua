-- The functions without a library.
assert(type(nil) == "nil" and type(1) == "number" and type("") == "string" and type({}) == "table" and type(type) == "function")
assert(tostring(nil) == "nil" and tostring(true) == "true" and tostring(12) == "12" and tostring(1.0) == "1.0" and tostring(0.1) == "0.1")
assert(tostring({}) == "table" and tostring(print) == "function")
assert(tostring(setmetatable({}, { __tostring = function() return "mine" end })) == "mine")
assert(tonumber("10") == 10 and tonumber(" 0x1F ") == 31 and tonumber("1e2") == 100.0 and tonumber("") == nil and tonumber("1 2") == nil)
assert(tonumber("ff", 16) == 255 and tonumber("-zz", 36) == -1295 and tonumber("8", 8) == nil and tonumber("", 10) == nil)
assert(select("#") == 0 and select("#", nil, nil) == 2 and select(2, "a", "b", "c") == "b" and select(-1, "a", "b") == "b" and select("#", select(4, 1, 2)) == 0)
assert(rawequal("a", "a") and not rawequal({}, {}) and rawlen({ 1, 2 }) == 2 and rawlen("abc") == 3)

local t = setmetatable({}, { __index = function(_, k) return k .. "!" end, __newindex = function() end, __len = function() return 7 end })
t.x = 1
assert(t.x == "x!" and rawget(t, "x") == nil and #t == 7)
rawset(t, "x", 2)
assert(t.x == 2)

-- pairs is in order, whatever the order of insertion.
local function keys(t)
  local all = {}
  for k in pairs(t) do all[#all + 1] = tostring(k) end
  return table.concat(all, " ")
end
assert(keys({ zebra = 1, apple = 2, [3] = 3, [1] = 1, [2.5] = 2, [-1] = 0, [true] = 4, [false] = 5 }) == "-1 1 2.5 3 apple zebra false true")
local many = {}
for i = 999, 1, -1 do many[("key %03d"):format(i)] = i end
local before = ""
for k, v in pairs(many) do
  assert(before < k and many[k] == v)
  before = k
  many[k] = nil -- allowed
end
assert(next(many) == nil and next({}) == nil and next({ 5 }) == 1 and next({ 5, x = 1 }, 1) == "x" and next({ 5 }, 1) == nil)
assert(not pcall(pairs, { [{}] = 1 }), "tables have no order")
for k, v in pairs(setmetatable({}, { __pairs = function() return function(_, k) if not k then return 1, 2 end end, nil, nil end })) do assert(k == 1 and v == 2) end
local sum = 0
for i, v in ipairs({ 1, 2, 3, nil, 5 }) do sum = sum + i * v end
assert(sum == 14)

-- Errors.
local ok, err = pcall(error, { code = 7 })
assert(not ok and err.code == 7)
ok, err = pcall(error, "text", 0)
assert(err == "text")
ok, err = pcall(function() error("here") end)
assert(err == "base.lua:44: here", err)
local function check() error("caller", 2) end
ok, err = pcall(function() check() end)
assert(err == "base.lua:47: caller", err)
ok, err = pcall(function() return nil + 1 end)
assert(not ok and err:find("^base.lua:49: "), err)
ok, err = pcall(function() assert(false, "because") end)
assert(err == "base.lua:51: because", err)
ok, err = pcall(string.rep)
assert(err:find("bad argument #1 to 'rep' (string expected, got no value)", 1, true), err)
assert(select(2, xpcall(function() error("x", 0) end, function(m) return m .. "y" end)) == "xy")
assert(select("#", pcall(function() return 1, nil, 3 end)) == 4)
assert(not pcall(setmetatable, {}, { __gc = function() end }))
assert(not pcall(setmetatable, setmetatable({}, { __metatable = 1 }), {}) and getmetatable(setmetatable({}, { __metatable = 1 })) == 1)

-- Control.
local closed = {}
do
  local a <close> = setmetatable({}, { __close = function() closed[#closed + 1] = "a" end })
  local b <close> = setmetatable({}, { __close = function() closed[#closed + 1] = "b" end })
end
assert(table.concat(closed) == "ba")
local n = 0
repeat n = n + 1 if n == 5 then goto out end until n > 10
::out::
assert(n == 5)
for i = 10, 1, -3 do n = i end
assert(n == 1 and 7 // 2 == 3 and 7 % -3 == -2 and 2 ^ 10 == 1024.0 and 1 << 4 == 16 and "a" .. 1 == "a1" and 3 == 3.0)
assert(not pcall(function() return "1" + 1 end), "strings are no numbers")
assert(math.max(1, 3, 2) == 3 and math.type(1) == "integer" and math.tointeger(3.0) == 3 and utf8.len("äöü") == 3 and utf8.char(228) == "ä")

-- What is over is not counted any more: a long loop has memory enough.
local wide = {}
for i = 1, 100 do wide["key " .. i] = i end
for i = 1, 2000 do
  for _, v in pairs(wide) do n = v end
end
for i = 1, 2000 do assert(next(wide) == "key 1") end
for i = 1, 60000 do select("#", i, i, i) end
