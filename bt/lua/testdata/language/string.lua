-- The string library.
assert(("x"):rep(3) == "xxx" and ("x"):rep(3, ",") == "x,x,x" and ("x"):rep(0) == "" and ("x"):rep(-1) == "" and (""):rep(1000000000) == "")
assert(("hello"):sub(2, 3) == "el" and ("hello"):sub(-3) == "llo" and ("hello"):sub(0) == "hello" and ("hello"):sub(3, 2) == "" and ("hello"):sub(-100, 100) == "hello")
assert(("hello"):sub(math.mininteger, math.maxinteger) == "hello")
assert(("abc"):byte() == 97 and select("#", ("abc"):byte(1, -1)) == 3 and ("abc"):byte(10) == nil and string.char(72, 105) == "Hi" and string.char() == "")
assert(("aBc"):upper() == "ABC" and ("aBc"):lower() == "abc" and ("abc"):reverse() == "cba" and ("abc"):len() == 3)

local function same(...)
  local want, got = select(1, ...), table.pack(select(2, ...))
  for i = 1, got.n do got[i] = tostring(got[i]) end
  local text = table.concat(got, " ", 1, got.n)
  if text ~= want then error(("want %s, got %s"):format(want, text), 2) end
end
-- find
same("2 3", ("hello"):find("el"))
same("4 4", ("hello"):find("l", 4))
same("4 4", ("hello"):find("l", -2))
same("nil", ("hello"):find("x"))
same("3 3", ("a.b.c"):find("b"))
same("4 4", ("a.b.c"):find(".", 3, true))
same("1 0", (""):find(""))
same("6 5", ("hello"):find("", 6))
same("nil", ("hello"):find("", 7))
same("1 11 key value", ("key = value"):find("^(%w+)%s*=%s*(%w+)$"))
same("nil", ("hello"):find("^l"))
-- match
same("2024 05", ("date: 2024-05"):match("(%d+)-(%d+)"))
same("hello", ("  hello  "):match("^%s*(.-)%s*$"))
same("3", ("hello"):match("()ll"))
same("(b(c)d)", ("a(b(c)d)e"):match("%b()"))
same("THE", ("THE (quick) fox"):match("%f[%a]%a+"))
same("fox", ("THE (quick) fox"):match("%f[%a]%a+%f[\0]"))
same("abab ab", ("xababy"):match("((ab)%2)"))
same("]-x", ("a]-x"):match("[]x-]+"))
same("b-", ("ab-"):match("[^a]+"))
same("a", ("a"):match("a?a"))
same("", ("b"):match("a*"))
same("nil", ("b"):match("a+"))
same("<b>", ("<b><i>"):match("<.->"))
same("<b><i>", ("<b><i>"):match("<.*>"))
same("é", ("café"):match("[\xc3-\xc4][\x80-\xbf]"))
same("a$", ("a$b"):match("a$"  .. "?") and ("a$b"):match("a%$"))
same("x.y", ("x.y"):match("%w%.%w"))
same("$", ("a$b"):match("$b") and "$")
-- gmatch
local all = {}
for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do all[#all + 1] = k .. v end
same("a1 b2", table.concat(all, " "))
all = {}
for w in ("abc"):gmatch("%a-") do all[#all + 1] = "[" .. w .. "]" end
same("[] [] [] []", table.concat(all, " "))
all = {}
for w in ("one  two"):gmatch("%a*") do all[#all + 1] = "[" .. w .. "]" end
same("[one] [] [two]", table.concat(all, " "))
-- gsub
same("hexxo 2", ("hello"):gsub("l", "x"))
same("hexlo 1", ("hello"):gsub("l", "x", 1))
same("baa 1", ("aaa"):gsub("^a", "b"))
same("-a-b- 3", ("ab"):gsub("", "-"))
same("-x-y- 3", ("axaya"):gsub("a*", "-"))
same("hello hello world world 2", ("hello world"):gsub("%w+", "%0 %0"))
same("world hello 1", ("hello world"):gsub("(%w+) (%w+)", "%2 %1"))
same("100% 1", ("x"):gsub("x", "100%%"))
same("[h]ello 1", ("hello"):gsub("h", "[%1]"))
same("4 = 2+2 1", ("$x = 2+2"):gsub("%$(%w+)", { x = 4 }))
same("$y 1", ("$y"):gsub("%$(%w+)", { x = 4 }))
same("HELLO world 1", ("hello world"):gsub("%w+", string.upper, 1))
same("abc 3", ("abc"):gsub("%w", function() return nil end))
assert(not pcall(string.gsub, "x", "x", "%2") and not pcall(string.gsub, "x", "x", "%a") and not pcall(string.gsub, "x", "x", function() return {} end))
for _, bad in ipairs({ "[a", "(", ")", "%", "%1", "(%1)", "%b", "%bx", "%f", "[%", "%f[a", "[^]" }) do
  assert(not pcall(string.find, "x", bad), bad)
end
assert(not pcall(string.find, "x", ("()"):rep(33)))
-- format
same("   42|42   |00042|+42|2a|2A|52", string.format("%5d|%-5d|%05d|%+d|%x|%X|%o", 42, 42, 42, 42, 42, 42, 42))
same("3.14|3.140000|3.1e+00|0.1|1e+20|100000", string.format("%.2f|%f|%.1e|%g|%g|%g", 3.14, 3.14, 3.14, 0.1, 1e20, 1e5))
same("inf|-inf|  nan", string.format("%f|%g|%5.1f", math.huge, -math.huge, 0 / 0))
same("  ab|ab  |a|A|%", string.format("%4s|%-4s|%.1s|%c|%%", "ab", "ab", "ab", 65))
same("table nil true 1.5", string.format("%s %s %s %s", {}, nil, true, 1.5))
for _, bad in ipairs({ "%", "%y", "%100d", "%.100f", "%p", "%q", "%5", "%d %d" }) do assert(not pcall(string.format, bad, 1), bad) end
assert(not pcall(string.format, "%d", "x") and not pcall(string.format, "%d", 1.5))
