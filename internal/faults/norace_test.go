//go:build !race

package faults_test

// every is which cases of TestCorruption run besides the first ones.
const every = 24
