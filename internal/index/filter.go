package index

import "math/bits"

// filter is a Bloom filter in lines of 64 bytes: all bits of a key are in one line, so
// that asking touches one line of the processor's cache.
type filter []byte

const (
	filterLine = 64
	filterBits = 12 // for each key
	filterSet  = 7  // bits of a line that a key sets
)

// newFilter returns a filter for so many keys.
func newFilter(keys uint64) filter {
	return make(filter, filterLine*(keys*filterBits/(8*filterLine)+1))
}

// probe makes the number that a filter knows a name by: FNV-1a, mixed.
func probe[T string | []byte](s section, name T) uint64 {
	const prime = 1099511628211
	h := (uint64(14695981039346656037) ^ uint64(s)) * prime
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	return mix(h)
}

// mix spreads what differs over all bits, as splitmix64 does.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// line returns the bytes that have a key's bits.
func (f filter) line(p uint64) []byte {
	n, _ := bits.Mul64(p, uint64(len(f)/filterLine))
	return f[n*filterLine:][:filterLine]
}

func (f filter) add(p uint64) {
	line := f.line(p)
	for i, h := 0, mix(p); i < filterSet; i, h = i+1, h>>9 {
		line[h>>3&63] |= 1 << (h & 7)
	}
}

// has reports whether a key may have been added; false means that it was not.
func (f filter) has(p uint64) bool {
	line := f.line(p)
	for i, h := 0, mix(p); i < filterSet; i, h = i+1, h>>9 {
		if line[h>>3&63]&(1<<(h&7)) == 0 {
			return false
		}
	}
	return true
}
