// Package modeltest is a model server that says what a script tells it to: for tests of
// programs that talk to a model, and for demonstrations without a key.
//
// It speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini over
// HTTP on loopback, streaming or whole. Any of these requests is answered out of the same
// script, in the form it was asked in.
//
// # Scripts
//
// A script is text that reads like a dialogue:
//
//	# A line that begins with # is a comment.
//	== the developer of G-1
//	asked: ^# G-1:
//	says: I write the function.
//	writes: lib/greet.sh
//	  greet() { echo "Hello, $1!"; }
//	runs: git add -A && git commit -qm G-1
//	result: G-1
//	says:
//	  READY_FOR_REVIEW: G-1
//	  Summary: written
//
//	asked: ^Another finding
//	says: I look at it.
//
// "==" begins a conversation and names it. It has turns, each of which begins with what is
// asked; the replies of a turn follow. Lines that are indented continue the one above.
//
//	asked: REGEXP     the user's newest text must match; so must it all further asked: lines
//	says: TEXT        a block of text
//	thinks: TEXT      reasoning, as the vendor shows it apart from the text
//	floods: 20MiB     a text of that size without a line break (also KiB)
//	runs: COMMAND     calls the tool for shell commands that the request offers
//	writes: PATH      calls the tool that writes a file; its content is indented
//	reads: PATH       calls the tool that reads a file
//	calls: NAME {…}   calls a tool by its name, whether offered or not; in OpenAI Responses
//	                  SPACE/NAME is one of a namespace, as Codex has tools of servers
//	result: REGEXP    what the calls above gave must match; asked before the next reply
//	until: REGEXP     as result:, but the calls above are made again until it matches, 20
//	                  times at most
//	waits: NAME       goes on when the test says so ([Server.Release])
//	usage: 120 in, 100 cached, 34 out
//	                  the tokens of the reply above: cached ones are part of "in".
//	                  Without it 100 in, 20 out
//	pieces: 1         the reply above is sent in pieces of that many characters
//
// A named group of an asked: line can be said, run and written later in the conversation:
// after "asked: (?P<run>run=\S+) belongs", ${run} stands for what the group has matched.
//
// Calls that follow each other are made in one reply, and a program may carry them out at
// the same time. A reply ends where text follows a call, or at a result: line.
//
// A test that wants replies cut elsewhere says so to the server: [Server.Cut] and
// [Server.Drip].
//
// Where something goes wrong:
//
//	breaks:           the connection is cut after what was said so far
//	stalls:           nothing more is said until the client goes away
//	fails: 529 TEXT   an HTTP error, in the vendor's form; TEXT is its message. Indented
//	                  lines are headers and, after an empty line, a body of your own
//	limits: 90m       the vendor's form of a usage limit that ends in 90 minutes, or at a
//	                  time such as 2030-01-02T15:04:05Z
//	times: 2          the trouble above comes that often, once if nothing is said; what
//	                  follows it is the next attempt at the same reply. If nothing follows,
//	                  it comes always
//
// # Which reply is meant
//
// The programs send the whole history with each request. The conversation and its turn
// follow from the user's texts in it, the reply from how often tools have given results
// since the newest one. The first conversation that fits is meant. Nothing but the attempts is counted, for
// all that is asked of a conversation together; so any number of programs can go through
// the same conversation at once.
//
// What agent programs ask on their own account, such as a title for the conversation, is
// no part of a script: a request of theirs that offers no tools gets a harmless answer, and
// so do prompts that are known to be theirs.
package modeltest
