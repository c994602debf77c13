// Package agent drives the programs of agents: it starts one, tells it what to do, and makes events
// of what it says and does. How a session lives, and what it reports of its turns, is the matter of
// package session, which knows of a program nothing but the [Adapter] and its events.
//
// An [Adapter] is made for a session ([New]) and drives one agent. It starts nothing before its first
// turn. Events come one after the other on a channel that is not buffered, so a program that prints
// faster than it is heard has to wait, and only what a line needs is held in memory. What a program
// prints is untrusted: any line may be odd, of any length, or none at all.
//
// # Another adapter
//
// A program that speaks the Agent Client Protocol needs none: the adapter acp drives it. If it has
// settings of its own that matter (what it takes from the worktree, which shell it runs commands
// by), they are in settings.go and protect.go. Another way to speak needs:
//
//   - A file with the adapter's name. Its type embeds program, which has the process group, its input
//     and its end, and so Ready, End, Clear and Events; it adds Traits, Prompt, Tell and Cancel. A
//     program that is run once a turn and prints lines of JSON embeds stream instead (as claude.go
//     and codex.go do), and adds Prompt and what it makes of a line. With a teller it tells apart
//     the agent's voice, its tools and what is denied: a signal counts in the voice alone. If the
//     program can go on with a conversation, it tells that (Conversed, Forgotten) and heeds Spec.Resume.
//   - A name among the constants of adapter.go and a row of the table adapters.
//   - The same name in package config: its constant, adapters, and the comment of Agent.Adapter, from
//     which docs/signalbox.schema.json is written (go test ./internal/config -update). If the program
//     is a known one, a row of knownPrograms, by which `signalbox init` proposes it and
//     `signalbox doctor` says whether it is installed and which version was tried.
//   - What keeps its commands apart from it: a case of [Config.Way] in protect.go, and its logins and
//     settings in package sandbox (state.go). Without them it can't review in a sandbox, and doctor
//     says so.
//   - Tests: a player in adapter_test.go, which holds every adapter to the promises of [Adapter]; what
//     the real program has printed in testdata, for TestHear and FuzzHear; whole sessions, with denied
//     tools, limits and hangs, in package session (stream_test.go has a dialect for each program that
//     prints lines); the real program, if it can be had, in internal/e2e (agents_test.go).
//   - In docs/agents.md: a row in each of its tables (settings, what it can be told and counts, what it
//     leaves aside of a change), and what a user has to know beside them.
package agent
