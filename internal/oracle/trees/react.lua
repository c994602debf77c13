-- Tools until no tool is called: the first reply without a tool call is the answer. Models are
-- taught no signals, and one that is said nevertheless is taken out and steers nothing.

local MAX_TURNS = 30        -- the last one has to be the answer
local MAX_TOKENS = 400000   -- of all replies and requests together

local function action(name, fn, args) return BT.action(name, { fn = fn, args = args }) end
local function condition(name, fn) return BT.condition(name, { fn = fn }) end
local function finish(outcome) return action("finish-" .. outcome, "oracle.finish", { outcome = outcome }) end

BT.tree("react", {
    description = "Tools until no tool is called",
    blackboard = {
        question_class = "string",
        system_prompt = "string",
        turn = "int",
        last_turn = "bool",
        llm_response = "map",
        tool_results = "list",
        outcome = "string",
        missing = "string",

        -- What every llm_call keeps of signals
        last_signal = "Signal",
        prev_signal = "Signal",
        _signal_parsed_this_turn = "bool",
    },
    root = BT.sequence({
        action("classify-question", "oracle.classify_question"),
        action("compose-prompt", "oracle.compose_prompt", { without = "signals" }),
        BT.loop("turns",
            BT.sequence({
                BT.selector({
                    BT.sequence("one-turn", {
                        action("build-llm-request", "oracle.build_llm_request", { max_turns = MAX_TURNS, max_tokens = MAX_TOKENS }),
                        BT.llm_call("ask-model", { prompt_keys = { "system_prompt" }, timeout = 120, retries = 3, backoff = 2 }),
                        BT.selector("route", {
                            BT.sequence("last-turn", { condition("is-last-turn", "oracle.is_last_turn"), finish("partial") }),
                            BT.sequence("use-tools", {
                                condition("has-tool-calls", "oracle.has_tool_calls"),
                                action("await-approval", "oracle.await_approval"), -- by a person, if a call changes something
                                action("run-tools", "oracle.run_tools"),
                            }),
                            finish("answered"),
                        }),
                    }),
                    finish("failed"), -- no reply can be had
                }),
                condition("is-finished", "oracle.is_finished"),
            }),
            { times = MAX_TURNS, stop_on = "success" }),
    }),
})
