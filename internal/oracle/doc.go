// Package oracle answers a person's question with a model and tools. A behaviour tree,
// not the model, owns the loop; the model says by signals whether it needs another turn,
// knows enough, or is stuck.
//
// The tree is a file, trees/oracle-agent.lua, and so are the prompts. What the tree's
// nodes can call is registered in library.go; what a reply without a usable signal leads
// to is the table in fallback.go. One question is one [Oracle.Ask]: it classifies the
// question without a model, composes the prompt, and ticks the tree until there is an
// answer. What happens on the way comes as chunks, for the person, and as events, for
// whoever subscribes. Signals never show in the content of a chunk.
//
// However a question ends, it ends with an answer: one that is not complete says what is
// missing.
package oracle
