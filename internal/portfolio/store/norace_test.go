//go:build !race

package store

// someHistories is how many histories the property is tried on, if no flag says otherwise.
const someHistories = 2_000
