// Package e2e tests deliveries as a person has them: the program itself, real git,
// real processes, the real engine; only the agents are shell scripts that a test
// writes.
package e2e
