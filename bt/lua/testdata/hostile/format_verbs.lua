-- It formats with verbs that have no argument, or no end.
for _, f in ipairs({ "%p", "%", "%5", "%-", "%d", "%s %s", "%!" }) do pcall(string.format, f) end
while true do pcall(string.format, "%5.3") end
