// Package english writes numbers with their nouns.
package english

import "fmt"

// Count is a number with its noun: "1 task", "2 tasks". The noun's plural has an s more.
func Count[N int | int64](n N, noun string) string {
	return fmt.Sprintf("%d %s", n, Word(n, noun, noun+"s"))
}

// Word is the word for one, or that for so many.
func Word[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
