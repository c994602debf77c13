-- It raises an error in the handler of an error.
while true do xpcall(error, function() error("again") end) end
