//go:build !unix

package regular

const nonblock, nofollow = 0, 0
