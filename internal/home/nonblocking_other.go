//go:build !unix

package home

// nonBlocking is for systems with named pipes among the files.
const nonBlocking = 0
