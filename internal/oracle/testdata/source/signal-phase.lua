-- After LLM call (line ~357), add signal check sequence
BT.sequence({
    -- Parse and process signal
    BT.action("parse-signal", {
        fn = "backend.src.bt.actions.signal_actions.parse_response_signal"
    }),
    BT.action("update-signal-state", {
        fn = "backend.src.bt.actions.signal_actions.update_signal_state"
    }),
    BT.action("log-signal", {
        fn = "backend.src.bt.actions.signal_actions.log_signal"
    }),
    BT.action("strip-signal", {
        fn = "backend.src.bt.actions.signal_actions.strip_signal_from_response"
    }),
})
