// Package agentsig reads what AI agents say: it finds the signals in an
// agent's output, checks them, and tells use from mention.
//
// Agents signal in three dialects, and a program that listens to agents has to
// expect all of them in the same output:
//
//   - line: READY_FOR_REVIEW: T-1, on a line of its own, with a payload of
//     "Key: value" lines below it;
//   - xml: <signal type="need_turn"><reason>…</reason></signal>, a model's
//     reflection on its own turn;
//   - exit: a JSON object {"protocol":"apm2_agent_exit",…} that hands over a
//     phase of work.
//
// All three become one [Signal]. The whole vocabulary is one table
// ([Vocabulary]); the scanner, the writer ([Signal.Wire]) and the prompt text
// ([Instructions]) are fed from it.
//
// # Use is not mention
//
// A signal counts only where the agent uses it. One that stands in a code
// fence, a block quote, inline code, indented text, the middle of a sentence,
// a delegation prompt, a tool's result or an echoed prompt is only mentioned.
// What would have been a signal but for such a rule is reported as a near
// miss, with its reason and position, so that an agent can be told exactly
// what was wrong. Nothing ever defaults to success: an output without a signal
// is unknown, and two different terminal signals are ambiguous.
//
// # Streaming
//
// A [Scanner] takes output in chunks of any size and gives the same result for
// every split. Its memory is bounded, whatever comes in. It hands on the clean
// text as it comes, with signals taken out; a signal never shows there in
// part. [Scan] does the same for a whole text.
package agentsig
