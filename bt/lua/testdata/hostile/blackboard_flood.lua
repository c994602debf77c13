-- It sets keys for ever.
while true do bb.set("key", { ("x"):rep(1000) }) end
