// Package truncate shortens texts for a column of a database.
package truncate

// Truncate returns as much of the beginning of s as fits into n bytes, which is what the column holds. A negative n is
// taken for 0.
func Truncate(s string, n int) string {
	if n < 0 {
		n = 0
	}
	if len(s) <= n {
		return s
	}
	return s[:n]
}
