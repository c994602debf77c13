-- Every constructor, with and without what may be left out.
local step = BT.action("step", { fn = "step", args = { list = { 1, 2.5, "x" }, map = { a = { b = true } }, empty = {} }, description = "a step" })
local ready = BT.condition("ready", { fn = "ready" })

BT.subtree("ported", { blackboard = { question = "string", answer = "any", seen = "list" }, ports = { question = "in", answer = "out", seen = "inout" }, root = step })
BT.subtree("part", { description = "a part", blackboard = { own = "int" }, root = step })

local children = {}
for i = 1, 3 do
    children[i] = BT.inverter("not " .. i, ready)
end

BT.tree("everything", {
    description = "all of it",
    blackboard = { items = "list", item = "any", reply = "string", out = "map" },
    root = BT.sequence("all", {
        description = "one after the other",
        BT.selector(children),
        BT.parallel({ step, step, description = "three" }),
        BT.parallel("some", { step, ready }, { succeed = "one" }),
        BT.parallel({ step, ready }, { succeed = 2, description = "both" }),
        BT.parallel({ step }, { succeed = "all" }),
        BT.for_each("each", step, { list = "items", item = "item", min = 1, continue_on_failure = true }),
        BT.for_each(step, { list = "items", item = "item" }),
        BT.timeout("soon", step, { seconds = 1.5 }),
        BT.retry(step, { retries = 2, backoff = 0.25 }),
        BT.retry("never", step, { retries = 0 }),
        BT.guard(ready, step),
        BT.guard("watched", ready, step, { description = "as long as it is ready" }),
        BT.cooldown(step, { seconds = 60 }),
        BT.always_succeed(step),
        BT.always_fail("no", step, { description = "fails" }),
        BT.loop(step),
        BT.loop("thrice", step, { times = 3 }),
        BT.loop(step, { times = 10, stop_on = "failure" }),
        BT.loop(step, { stop_on = "success" }),
        BT.llm_call({ prompt_keys = { "reply" } }),
        BT.llm_call("ask", { model = "m", prompt_keys = { "reply", "item" }, stream_key = "reply", budget = 100, timeout = 5, retries = 1, backoff = 1, description = "asks" }),
        BT.tool("look", { tool = "search", args = { limit = 3 }, from = { query = "reply" }, result = "out" }),
        BT.script("decide", { source = [[return bb.get("reply") ~= nil]], timeout = 2 }),
        BT.subtree("part"),
        BT.subtree("ported", { ports = { question = "reply", answer = "out", seen = "items" }, description = "with keys of ours" }),
        BT.reactive_sequence({ ready, step }),
        BT.reactive_selector("watch", { description = "again and again", ready, step }),
        BT.switch({ BT.case("yes", step), BT.case(2, ready), BT.case(2.5, step), BT.case(true, step) }, { key = "item" }),
        BT.switch("by reply", { BT.case("code", step), description = "by what was said" }, { key = "reply", default = ready }),
        BT.budget(step, { tokens = 1000 }),
        BT.budget("dear", step, { tokens = 5, money = 0.25, seconds = 90, description = "not too much" }),
    }),
})
