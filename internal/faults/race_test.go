//go:build race

package faults_test

// every is which cases of TestCorruption run: under the race detector each takes
// ten times as long.
const every = 16
