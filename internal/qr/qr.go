// Package qr draws a text as a QR code (ISO/IEC 18004), so that a phone's camera reads it from a terminal: bytes, with error correction of
// level M, which bears that 15 % of it can't be read, up to version 10.
package qr

import (
	"errors"
	"strings"
)

// Code is a QR code: a square of modules that are dark or light.
type Code struct {
	size  int
	dark  [][]bool
	fixed [][]bool // it is no data
}

// ErrTooLong refuses a text that has no room.
var ErrTooLong = errors.New("the text is too long for a QR code")

// version is what the standard says of a version at level M.
type version struct {
	blocks, data int   // blocks, and the codewords of data in the shorter of them
	longer       int   // blocks that have one more
	check        int   // codewords of error correction in each
	align        []int // centres of alignment patterns
}

var versions = []version{
	{1, 16, 0, 10, nil},
	{1, 28, 0, 16, []int{6, 18}},
	{1, 44, 0, 26, []int{6, 22}},
	{2, 32, 0, 18, []int{6, 26}},
	{2, 43, 0, 24, []int{6, 30}},
	{4, 27, 0, 16, []int{6, 34}},
	{4, 31, 0, 18, []int{6, 22, 38}},
	{4, 38, 2, 22, []int{6, 24, 42}},
	{5, 36, 2, 22, []int{6, 26, 46}},
	{5, 43, 1, 26, []int{6, 28, 50}},
}

// room is how many codewords of data a version has.
func (v version) room() int { return v.blocks*v.data + v.longer }

// Encode makes the smallest code of a text.
func Encode(text string) (*Code, error) {
	for i, v := range versions {
		number, count := i+1, 8
		if number >= 10 {
			count = 16
		}
		if 4+count+8*len(text) > 8*v.room() {
			continue
		}
		c := blank(number, v.align)
		c.fill(v.interleave(v.words(text, count)))
		c.mask()
		return c, nil
	}
	return nil, ErrTooLong
}

// words are the codewords of data: the mode, how long the text is, the text, and what fills the rest.
func (v version) words(text string, count int) []byte {
	var bits []bool
	put := func(value, n int) {
		for i := n - 1; i >= 0; i-- {
			bits = append(bits, value>>i&1 == 1)
		}
	}
	put(4, 4) // bytes
	put(len(text), count)
	for _, b := range []byte(text) {
		put(int(b), 8)
	}
	put(0, min(4, 8*v.room()-len(bits)))
	put(0, (8-len(bits)%8)%8)
	for pad := 0xec; len(bits) < 8*v.room(); pad ^= 0xec ^ 0x11 {
		put(pad, 8)
	}
	words := make([]byte, v.room())
	for i, bit := range bits {
		if bit {
			words[i/8] |= 0x80 >> (i % 8)
		}
	}
	return words
}

// interleave divides words into blocks, adds to each its error correction, and takes a word of each in turn.
func (v version) interleave(words []byte) (all []byte) {
	var data, checks [][]byte
	divisor := generator(v.check)
	for i := range v.blocks {
		n := v.data
		if i >= v.blocks-v.longer {
			n++
		}
		data, checks = append(data, words[:n]), append(checks, remainder(words[:n], divisor))
		words = words[n:]
	}
	for _, part := range [][][]byte{data, checks} {
		for i := range v.data + 1 + v.check {
			for _, block := range part {
				if i < len(block) {
					all = append(all, block[i])
				}
			}
		}
	}
	return all
}

// times multiplies in the field of 256 elements that the standard names.
func times(a, b byte) (product byte) {
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			product ^= a
		}
		carry := a >> 7
		a = a<<1 ^ carry*0x1d
	}
	return product
}

// generator is the polynomial of a degree whose roots are the powers of 2, without its first coefficient, which is 1.
func generator(degree int) []byte {
	g := make([]byte, degree)
	g[degree-1] = 1
	for root, i := byte(1), 0; i < degree; root, i = times(root, 2), i+1 {
		for j := range g {
			g[j] = times(g[j], root)
			if j+1 < degree {
				g[j] ^= g[j+1]
			}
		}
	}
	return g
}

// remainder is that of words that are divided by a polynomial: their error correction.
func remainder(words, divisor []byte) []byte {
	rest := make([]byte, len(divisor))
	for _, w := range words {
		factor := w ^ rest[0]
		copy(rest, rest[1:])
		rest[len(rest)-1] = 0
		for i, d := range divisor {
			rest[i] ^= times(d, factor)
		}
	}
	return rest
}

// blank is a code of a version that has no data yet.
func blank(number int, align []int) *Code {
	c := &Code{size: 17 + 4*number}
	for range c.size {
		c.dark, c.fixed = append(c.dark, make([]bool, c.size)), append(c.fixed, make([]bool, c.size))
	}
	for i := range c.size {
		c.set(i, 6, i%2 == 0)
		c.set(6, i, i%2 == 0)
	}
	last := c.size - 7
	for _, corner := range [][2]int{{0, 0}, {last, 0}, {0, last}} {
		for y := -1; y <= 7; y++ {
			for x := -1; x <= 7; x++ {
				ring := max(abs(x-3), abs(y-3))
				c.set(corner[0]+x, corner[1]+y, ring != 2 && ring != 4)
			}
		}
	}
	for _, y := range align {
		for _, x := range align {
			if x+y == 12 || min(x, y) == 6 && max(x, y) == last {
				continue // a corner has its own pattern
			}
			for dy := -2; dy <= 2; dy++ {
				for dx := -2; dx <= 2; dx++ {
					c.set(x+dx, y+dy, max(abs(dx), abs(dy)) != 1)
				}
			}
		}
	}
	if number >= 7 {
		bits := number<<12 | bch(number, 12, 0x1f25)
		for i := range 18 {
			c.set(c.size-11+i%3, i/3, bits>>i&1 == 1)
			c.set(i/3, c.size-11+i%3, bits>>i&1 == 1)
		}
	}
	c.format(0)
	return c
}

func abs(n int) int { return max(n, -n) }

// set makes a module that is no data. What is outside is left out.
func (c *Code) set(x, y int, dark bool) {
	if x >= 0 && y >= 0 && x < c.size && y < c.size {
		c.dark[y][x], c.fixed[y][x] = dark, true
	}
}

// bch is what a value has to be followed by, so that some wrong bits are found.
func bch(value, bits, divisor int) int {
	rest := value << bits
	for at := 30; at >= bits; at-- {
		if rest>>at&1 == 1 {
			rest ^= divisor << (at - bits)
		}
	}
	return rest
}

// format writes the level and the mask, twice.
func (c *Code) format(mask int) {
	bits := (mask<<10 | bch(mask, 10, 0x537)) ^ 0x5412 // level M is 0
	for i := range 15 {
		dark := bits>>i&1 == 1
		switch {
		case i < 6:
			c.set(8, i, dark)
		case i < 8:
			c.set(8, i+1, dark)
		case i < 9:
			c.set(7, 8, dark)
		default:
			c.set(14-i, 8, dark)
		}
		if i < 8 {
			c.set(c.size-1-i, 8, dark)
		} else {
			c.set(8, c.size-15+i, dark)
		}
	}
	c.set(8, c.size-8, true)
}

// path calls f for each module of data in their order: up and down in columns of two, from the right.
func (c *Code) path(f func(x, y int)) {
	up := true
	for right := c.size - 1; right > 0; right -= 2 {
		if right == 6 {
			right = 5 // the column of the timing pattern
		}
		for i := range c.size {
			y := i
			if up {
				y = c.size - 1 - i
			}
			for _, x := range []int{right, right - 1} {
				if !c.fixed[y][x] {
					f(x, y)
				}
			}
		}
		up = !up
	}
}

// fill writes codewords. The modules that are left are light.
func (c *Code) fill(words []byte) {
	i := 0
	c.path(func(x, y int) {
		if i < 8*len(words) {
			c.dark[y][x] = words[i/8]>>(7-i%8)&1 == 1
		}
		i++
	})
}

// masks say which modules of data are turned over.
var masks = []func(x, y int) bool{
	func(x, y int) bool { return (x+y)%2 == 0 },
	func(_, y int) bool { return y%2 == 0 },
	func(x, _ int) bool { return x%3 == 0 },
	func(x, y int) bool { return (x+y)%3 == 0 },
	func(x, y int) bool { return (x/3+y/2)%2 == 0 },
	func(x, y int) bool { return x*y%2+x*y%3 == 0 },
	func(x, y int) bool { return (x*y%2+x*y%3)%2 == 0 },
	func(x, y int) bool { return ((x+y)%2+x*y%3)%2 == 0 },
}

// mask turns modules over by the mask that leaves the least which a camera could take for something else.
func (c *Code) mask() {
	best, least := 0, -1
	for i := range masks {
		c.turn(i)
		if p := c.penalty(); least < 0 || p < least {
			best, least = i, p
		}
		c.turn(i)
	}
	c.turn(best)
}

// turn turns modules over by a mask, or back.
func (c *Code) turn(mask int) {
	c.format(mask)
	c.path(func(x, y int) { c.dark[y][x] = c.dark[y][x] != masks[mask](x, y) })
}

// penalty is how much there is in a code that a camera could take for something else: long runs, squares of one colour, what looks like a corner,
// and more of one colour than of the other.
func (c *Code) penalty() (sum int) {
	dark := 0
	for y := range c.size {
		row, column := "", ""
		for x := range c.size {
			row, column = row+digit(c.dark[y][x]), column+digit(c.dark[x][y])
			if c.dark[y][x] {
				dark++
			}
			if x > 0 && y > 0 && c.dark[y][x] == c.dark[y-1][x] && c.dark[y][x] == c.dark[y][x-1] && c.dark[y][x] == c.dark[y-1][x-1] {
				sum += 3
			}
		}
		sum += linePenalty(row) + linePenalty(column)
	}
	return sum + abs(dark*20-c.size*c.size*10)/(c.size*c.size)*10
}

func digit(dark bool) string {
	if dark {
		return "1"
	}
	return "0"
}

func linePenalty(line string) (sum int) {
	run := 0
	for i := range line {
		if i > 0 && line[i] == line[i-1] {
			run++
		} else {
			run = 1
		}
		if run == 5 {
			sum += 3
		} else if run > 5 {
			sum++
		}
		if at := line[i:]; strings.HasPrefix(at, "10111010000") || strings.HasPrefix(at, "00001011101") {
			sum += 40
		}
	}
	return sum
}

// quiet is how many light modules are around a code.
const quiet = 4

// Columns is how many columns of a terminal the code takes.
func (c *Code) Columns() int { return c.size + 2*quiet }

// String draws the code for a terminal, two modules in each character, dark ones as the foreground: the terminal has to be told that this is
// darker than the background.
func (c *Code) String() string {
	var b strings.Builder
	dark := func(x, y int) bool { return x >= 0 && y >= 0 && x < c.size && y < c.size && c.dark[y][x] }
	for y := -quiet; y < c.size+quiet; y += 2 {
		for x := -quiet; x < c.size+quiet; x++ {
			switch upper, lower := dark(x, y), dark(x, y+1); {
			case upper && lower:
				b.WriteString("█")
			case upper:
				b.WriteString("▀")
			case lower:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
