// Package home gives checks a home directory in place of the user's.
//
// A check runs what agents wrote, and build tools run what they find in their caches: a hook
// that pre-commit has installed, an object that go compiled, a program that npx fetched.
// Agents can write the user's caches, so a check that used them would believe the agents. So
// each run of checks has a home directory of its own, with its own caches, which is removed
// afterwards: what the checks of one task write, those of another never see.
//
// It begins as a copy of the base: what the checks left that ran on the commit a run starts
// from, before any agent was started. Only these write a base ([Home.Keep]). A base whose
// making was interrupted is never used, as it gets its name at the end. The base of the last
// run that ended is what the next run's first checks begin with, so that they download only
// what is new; it is dropped when it is too large or too old.
//
// [User] says which variables lead the tools there, where the user's caches are, and where
// the tools themselves are that lie in the user's home directory.
package home
