//go:build !race

package faults_test

const every = 1
