//go:build !race

package store

// histories is how many histories the property is tried on.
const histories = 10_000
