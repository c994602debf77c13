//go:build race

package faults_test

// every is which cases of TestCorruption run besides the first ones: under the race detector each takes
// ten times as long.
const every = 32
