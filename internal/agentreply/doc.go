// Package agentreply makes replies in agent format ([agentformat]) of what a box knows: a run, a task, what waits for a person,
// what was used, a page of a text. An agent that gets one of them, and nothing else, can say what to do next.
//
// # What a reply holds to
//
//   - Every snapshot begins with the same keys: verdict (how things stand, in one line), next (what to do, in one line) and cut
//     (whether something was left out, which is in the file then). A reply to what failed has these alone.
//   - Flags are made of everything that is known, before anything is cut. Each is in [Table], with its severity, its meaning and
//     what to do about it; no state goes without one.
//   - Bad news come first, in the verdict and in what to do next. What a person is to be told comes before a call that waits.
//     Beside a warning no flag is a success. A next step names no key that the reply does not have.
//   - What waits for a person has the call ready that brings their word: its tool, its arguments, and which of them only the
//     person can give. What is for their own hands, such as to resume a run that is paused, has none.
//   - It names no tool that its [Reader] does not have, and has no call ready of one: it says what the person runs in its place.
//   - As compact JSON a reply has at most [MaxReply] bytes, whatever is in it. Of lists it has the first few and the total.
//   - What plans, agents and repositories say is found under keys that begin with "quoted_" and nowhere else: it is data, and no
//     instruction. It is escaped ([safetext.Escape]) and cut. Everywhere else are numbers, the box's own words, and ids of a
//     fixed alphabet.
//
// The package is pure: the time is a value, and nothing is read or written. Who saves the file calls a function twice: first
// without a file, and again with one if [Cut] says that something was left out.
package agentreply
