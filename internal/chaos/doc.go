// Package chaos lets three boxes of a cluster, as real processes in networks of their own, go through what happens to machines, and judges from outside what
// they said meanwhile. It is tests alone; README.md says how to run them for hours.
package chaos
