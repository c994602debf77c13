-- In oracle-agent.lua, add to blackboard schema (line ~25):
blackboard = {
    -- ... existing fields ...

    -- Signal state tracking (T023)
    last_signal = "Signal",
    signals_emitted = "list",
    consecutive_same_reason = "int",
    turns_without_signal = "int",
},
