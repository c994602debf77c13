// Package agentformat answers AI agents in a form they can decide from.
//
// A tool's full result is made for programs and people: every lot, every bar,
// every row. An agent that is handed all of it pays for it in context and still
// has to find what matters. What it needs in order to decide is little: one line
// that says how things stand, the few numbers behind it, what is out of the
// ordinary and how bad that is, and where the rest can be read. So a reply is made
// in layers, each from the one before:
//
//	result    everything the tool found; it goes to a file, whole ([Save])
//	snapshot  what a decision needs: a verdict in one line, totals, the top few of
//	          each list ([Snapshot])
//	flags     what the snapshot means, as names to branch on and messages to read,
//	          the worst first ([Flag])
//	response  snapshot and flags in an envelope that is always the same ([Response])
//
// The result and the snapshot are the tool's own types; the package has the rest.
//
// # Flags see everything, the caps come last
//
// A reply has to be small for any input, so a snapshot's lists are cut to a few
// entries. Flags are made before that cut. Otherwise a failure in the sixth rule of
// five that are shown would go unsaid, and the reply would read as an all-clear. A
// tool therefore builds its snapshot with whole lists; [Respond] asks for the flags
// first and for the capped snapshot after. Counts in the snapshot are of the whole
// lists, so that an agent sees that something was left out.
//
// # The same keys, always
//
// A failure is answered in the same form as a success: the status says "error", the
// snapshot's verdict says what went wrong, and a flag says it by name. An agent
// never has to guess the shape of a reply. A tool gives a flag to states it does not
// know, too: no flags at all would look like nothing to report. Flags are an empty
// list, never null.
//
// # Numbers and files
//
// JSON has no NaN and no infinities, and one of them spoils a whole reply. [Number]
// and [Round] turn them, and what is missing or can't be read, into 0.
//
// The path of a file is only in a reply if the file is there. One that was asked for
// and could not be written is named as file_error beside an otherwise whole reply:
// the decision does not depend on it.
package agentformat
