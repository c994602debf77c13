// Package signals lets a behaviour tree steer a model by what the model says of itself: that it
// needs another turn, knows enough, or is stuck. A model says so by XML signals in its replies
// (package agentsig has their grammar, and the text that teaches it).
//
// [Turns] is the wrapper around a model's turns. When a reply is there ([Turns.Heard]), its signal
// phase is four actions, in this order and once a turn: parse, update, log, strip. Their state is
// on the blackboard, in the global scope, under the keys that this package names; conditions
// read it there, so that a tree, in Go or in Lua, can route by them. [Turns.Library] has all of
// them by the names that trees use:
//
//	signals.check_signal                  a valid signal was parsed in this turn
//	signals.has_signal                    there is one, of signal_type if that is given
//	signals.signal_type_is                its type is expected_type
//	signals.signal_confidence_above       its confidence is at least threshold (0.5)
//	signals.consecutive_same_reason_gte   need_turn for the same reason, count times (3)
//	signal_actions.parse_response_signal
//	signal_actions.update_signal_state
//	signal_actions.log_signal
//	signal_actions.strip_signal_from_response
//	signal_actions.reset_signal_state     nothing was signalled yet
//
// A loop without a tree calls [Turns.Take] with each reply, and looks at what it returns.
//
// What is missing on the blackboard, or of another type, fails a condition and stops nothing.
package signals
