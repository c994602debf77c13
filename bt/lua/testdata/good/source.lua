-- The snippets of the source, with their elisions filled.
BT.subtree("agent-turn", {
    description = "Single agent turn with signal processing",

    root = BT.sequence({
        BT.action("build-llm-request", {
            fn = "backend.src.bt.actions.oracle.build_llm_request"
        }),

        BT.llm_call({
            model = "any", prompt_keys = { "messages" }, stream_key = "accumulated_content",
            budget = 4000, timeout = 60, retries = 0, backoff = 0.5,
        }),

        BT.always_succeed(
            BT.sequence({
                BT.action("parse-signal", {
                    fn = "backend.src.bt.actions.signal_actions.parse_response_signal",
                    description = "Parse XML signal from LLM response"
                }),
                BT.action("update-signal-state", {
                    fn = "backend.src.bt.actions.signal_actions.update_signal_state",
                    description = "Track consecutive reasons for loop detection"
                }),
                BT.always_succeed(
                    BT.action("log-signal", {
                        fn = "backend.src.bt.actions.signal_actions.log_signal"
                    })
                ),
                BT.action("strip-signal", {
                    fn = "backend.src.bt.actions.signal_actions.strip_signal_from_response",
                    description = "Remove signal XML from user-visible content"
                })
            })
        ),

        BT.selector({
            BT.sequence({
                BT.condition("is-stuck", {
                    fn = "backend.src.bt.conditions.signals.signal_type_is",
                    args = { expected_type = "stuck" }
                }),
                BT.action("noop", { fn = "backend.src.bt.actions.oracle.noop" })
            }),
            BT.sequence({
                BT.condition("context-sufficient", {
                    fn = "backend.src.bt.conditions.signals.signal_type_is",
                    args = { expected_type = "context_sufficient" }
                }),
                BT.action("noop", { fn = "backend.src.bt.actions.oracle.noop" })
            }),
            BT.action("noop", { fn = "backend.src.bt.actions.oracle.noop" })
        }),
    })
})

return BT.tree("oracle-agent", {
    blackboard = {
        messages = "list",
        accumulated_content = "string",
        last_signal = "Signal",
        signals_emitted = "list",
        consecutive_same_reason = "int",
        turns_without_signal = "int",
    },
    root = BT.subtree("agent-turn"),
})
