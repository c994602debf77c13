// Package worktree gives every task of a delivery a git worktree and a branch of
// its own, and merges what comes of them. It drives the git program.
//
// The user's checkout is out of bounds: its files, index, HEAD, branch and stash
// are read and never changed, and a branch that is checked out elsewhere is
// never moved. A branch is deleted only once its merge is proven, and whatever is
// found in the place of a worktree, and was not left there by an unfinished
// operation of this package, is moved aside and not deleted.
//
// Operations on different worktrees of a [Repo] may run at once; two on the same
// worktree may not, and nothing else may run in a worktree meanwhile: a lock file
// that is found in one was left by a crash. Hooks are never run, signatures never
// made, and git never asks anything.
package worktree
