-- The oracle: answers a question with tools. The tree owns the loop; the model says by
-- signals whether it needs another turn, knows enough, or is stuck.

local MAX_TURNS = 30        -- the last one has to be the answer
local MAX_TOKENS = 400000   -- of all replies and requests together

local function action(name, fn, args) return BT.action(name, { fn = fn, args = args }) end
local function condition(name, fn, args) return BT.condition(name, { fn = fn, args = args }) end
local function signal_is(kind)
    return condition("is-" .. kind, "conditions.signals.signal_type_is", { expected_type = kind })
end
local function same_reason()
    return condition("same-reason", "conditions.signals.consecutive_same_reason_gte", { count = 3 })
end
local function finish(outcome) return action("finish-" .. outcome, "oracle.finish", { outcome = outcome }) end
local function tell(what) return action("tell-" .. what, "oracle.tell", { text = what }) end

-- What a reply leads to that says nothing which can be acted upon. The table of verdicts
-- is fallback.choose.
BT.subtree("fall-back", {
    description = "A reply that can't be acted upon",
    root = BT.sequence({
        action("choose-fallback", "fallback.choose"),
        BT.selector({
            BT.sequence({ condition("escalate", "fallback.is", { verdict = "escalate" }), finish("stuck") }),
            BT.sequence({ condition("answer", "fallback.is", { verdict = "answer" }), finish("answered") }),
            BT.sequence({ condition("answer-partial", "fallback.is", { verdict = "answer_partial" }), finish("partial") }),
            BT.sequence({ condition("hint", "fallback.is", { verdict = "hint" }), tell("hint") }),
            BT.sequence({ BT.selector({ signal_is("stuck"), same_reason() }), tell("stuck") }),
            tell("continue"),
        }),
    }),
})

BT.subtree("agent-turn", {
    description = "One turn: ask the model, read its signal, see what is next",
    root = BT.sequence({
        BT.action("build-llm-request", {
            fn = "actions.oracle.build_llm_request",
            args = { max_turns = MAX_TURNS, max_tokens = MAX_TOKENS },
        }),

        BT.llm_call("ask-model", {
            prompt_keys = { "system_prompt" },
            stream_key = "accumulated_content",
            timeout = 120,
            retries = 3,
            backoff = 2,
        }),

        -- The signal phase. A fault in it never costs the answer.
        BT.always_succeed(
            BT.sequence("signal-phase", {
                BT.action("parse-signal", {
                    fn = "actions.signal_actions.parse_response_signal",
                    description = "Read the signal in this turn's reply",
                }),
                BT.action("update-signal-state", {
                    fn = "actions.signal_actions.update_signal_state",
                    description = "Count silent turns and repeated reasons",
                }),
                BT.always_succeed(
                    BT.action("log-signal", { fn = "actions.signal_actions.log_signal" })
                ),
                BT.action("strip-signal", {
                    fn = "actions.signal_actions.strip_signal_from_response",
                    description = "Take the signal out of what was said",
                }),
            })
        ),

        BT.selector("route", {
            -- The budget is spent: this reply is the answer, complete or not.
            BT.sequence("last-turn", {
                condition("is-last-turn", "oracle.is_last_turn"),
                BT.selector({
                    BT.sequence({ signal_is("context_sufficient"), finish("answered") }),
                    finish("partial"),
                }),
            }),

            BT.sequence("use-tools", {
                condition("has-tool-calls", "oracle.has_tool_calls"),
                action("await-approval", "oracle.await_approval"), -- by a person, if a call changes something
                action("run-tools", "oracle.run_tools"),
            }),

            -- Stuck once: another way. Stuck again: the end, and it says so.
            BT.sequence("stuck", {
                BT.selector({
                    signal_is("stuck"),
                    BT.sequence({ same_reason(), action("note-loop", "oracle.loop_detected") }),
                }),
                BT.selector({
                    BT.sequence({ condition("first-stuck", "oracle.first_time", { what = "stuck" }), BT.subtree("fall-back") }),
                    finish("stuck"),
                }),
            }),

            BT.sequence("context-sufficient", { signal_is("context_sufficient"), finish("answered") }),
            BT.sequence("partial-answer", { signal_is("partial_answer"), finish("partial") }),

            -- The other signals ask for another turn.
            BT.sequence("another-turn", {
                condition("has-signal", "conditions.signals.check_signal"),
                condition("sure", "conditions.signals.signal_confidence_above", { threshold = 0.5 }),
                BT.selector({
                    BT.sequence({ signal_is("need_turn"), tell("go-on") }),
                    tell("lacking"),
                }),
            }),
            BT.sequence("one-more-turn", {
                condition("has-signal", "conditions.signals.check_signal"),
                condition("half-sure", "conditions.signals.signal_confidence_above", { threshold = 0.3 }),
                condition("first-doubt", "oracle.first_time", { what = "doubt" }),
                tell("doubt"),
            }),

            BT.subtree("fall-back"),
        }),
    }),
})

BT.tree("oracle-agent", {
    description = "Answers a question with tools",
    blackboard = {
        question = "string",
        question_class = "string",
        system_prompt = "string",
        turn = "int",
        last_turn = "bool",
        llm_response = "map",
        accumulated_content = "string",
        tool_results = "list",
        fallback = "string",
        outcome = "string",
        missing = "string",

        -- Signal state tracking
        last_signal = "Signal",
        prev_signal = "Signal",
        signals_emitted = "list",
        consecutive_same_reason = "int",
        turns_without_signal = "int",
        _signal_parsed_this_turn = "bool",
    },
    root = BT.sequence({
        action("reset-state", "oracle.reset_state"),
        action("classify-question", "oracle.classify_question"),
        action("compose-prompt", "oracle.compose_prompt"),
        BT.loop("turns",
            BT.sequence({
                BT.selector({ BT.subtree("agent-turn"), finish("failed") }), -- no reply can be had
                condition("is-finished", "oracle.is_finished"),
            }),
            { times = MAX_TURNS, stop_on = "success" }),
    }),
})
