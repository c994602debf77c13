package qr

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// read is a reader of codes, told in other words: it knows where modules are by the standard's drawings, and looks at the drawing alone.
func read(t *testing.T, drawn string) string {
	t.Helper()
	var at [][]bool
	for line := range strings.Lines(drawn) {
		var upper, lower []bool
		for _, r := range strings.TrimSuffix(line, "\n") {
			upper, lower = append(upper, r == '█' || r == '▀'), append(lower, r == '█' || r == '▄')
		}
		at = append(at, upper, lower)
	}
	size := len(at[0]) - 2*quiet
	dark := func(x, y int) int {
		if at[y+quiet][x+quiet] {
			return 1
		}
		return 0
	}
	number := (size - 17) / 4
	v := versions[number-1]
	format := 0
	for i := range 6 {
		format |= dark(8, i) << i
	}
	format |= dark(8, 7)<<6 | dark(8, 8)<<7 | dark(7, 8)<<8
	for i := 9; i < 15; i++ {
		format |= dark(14-i, 8) << i
	}
	if format ^= 0x5412; format>>13 != 0 {
		t.Fatalf("the level is %d", format>>13)
	}
	mask := format >> 10 & 7
	taken := func(x, y int) bool {
		switch {
		case x == 6, y == 6, x < 9 && y < 9, x < 9 && y > size-9, x > size-9 && y < 9:
			return true
		case number >= 7 && (x > size-12 && y < 6 || y > size-12 && x < 6):
			return true
		}
		for i, ay := range v.align {
			for j, ax := range v.align {
				if corner := i == 0 && (j == 0 || j == len(v.align)-1) || j == 0 && i == len(v.align)-1; !corner && abs(x-ax) < 3 && abs(y-ay) < 3 {
					return true
				}
			}
		}
		return false
	}
	var words []byte
	n, word := 0, 0
	for column, right := 0, size-1; right > 0; column, right = column+1, right-2 {
		if right == 6 {
			right--
		}
		for i := range size {
			y := i
			if column%2 == 0 {
				y = size - 1 - i
			}
			for x := right; x > right-2; x-- {
				if taken(x, y) {
					continue
				}
				bit := dark(x, y)
				if masks[mask](x, y) {
					bit ^= 1
				}
				if word, n = word<<1|bit, n+1; n%8 == 0 {
					words, word = append(words, byte(word)), 0
				}
			}
		}
	}
	blocks := make([][]byte, v.blocks)
	for i := 0; i < v.data+1; i++ {
		for b := range blocks {
			if i < v.data || b >= v.blocks-v.longer {
				blocks[b], words = append(blocks[b], words[0]), words[1:]
			}
		}
	}
	var bits strings.Builder
	for _, b := range blocks {
		for _, w := range b {
			fmt.Fprintf(&bits, "%08b", w)
		}
	}
	for range v.check {
		for b := range blocks {
			blocks[b], words = append(blocks[b], words[0]), words[1:]
		}
	}
	if len(words) > 0 {
		t.Fatalf("%d words are left", len(words))
	}
	for _, b := range blocks { // every root of the generator is one of a block
		for root, i := byte(1), 0; i < v.check; root, i = times(root, 2), i+1 {
			var sum byte
			for _, w := range b {
				sum = times(sum, root) ^ w
			}
			if sum != 0 {
				t.Fatalf("version %d: a block does not hold at root %d", number, i)
			}
		}
	}
	value := func(n int) (x int) {
		text := bits.String()[:n]
		rest := bits.String()[n:]
		bits.Reset()
		bits.WriteString(rest)
		for _, r := range text {
			x = x<<1 | int(r-'0')
		}
		return x
	}
	if mode := value(4); mode != 4 {
		t.Fatalf("the mode is %d", mode)
	}
	length := 8
	if number > 9 {
		length = 16
	}
	text := make([]byte, value(length))
	for i := range text {
		text[i] = byte(value(8))
	}
	return string(text)
}

// link is as the page prints it, of a length.
func link(n int) string {
	s := "https://box.example.org:7443/page/login?link="
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for len(s) < n {
		s += string("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[r.IntN(32)])
	}
	return s[:n]
}

// Texts of every length come back; one that is too long is refused.
func TestReadBack(t *testing.T) {
	for n := range 214 {
		c, err := Encode(link(n))
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		if got := read(t, c.String()); got != link(n) {
			t.Errorf("%d: %q", n, got)
		}
	}
	if _, err := Encode(link(214)); !errors.Is(err, ErrTooLong) {
		t.Errorf("214: %v", err)
	}
	c, err := Encode("ä \x00\xff")
	if err != nil || read(t, c.String()) != "ä \x00\xff" {
		t.Errorf("bytes: %v", err)
	}
}

// The drawing of a code stays as it is: zbarimg has read this one.
func TestDrawn(t *testing.T) {
	c, err := Encode("https://box.example.org:7443/page/login?link=ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "link.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if c.String() != string(want) || c.Columns() != 45 {
		t.Errorf("%d columns:\n%s", c.Columns(), c)
	}
}

// What others read is the text, in each version.
func TestReadByOthers(t *testing.T) {
	reader, err := exec.LookPath("zbarimg")
	if err != nil {
		t.Skip("there is no zbarimg in PATH (Debian's zbar-tools): codes are read back by this package's test alone")
	}
	for _, n := range []int{3, 20, 40, 50, 80, 100, 120, 150, 180, 213} {
		c, err := Encode(link(n))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "code.png")
		if err := picture(file, c); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), reader, "--quiet", "--raw", file).Output()
		if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != link(n) {
			t.Errorf("%d: %q, %v", n, got, err)
		}
	}
}

// picture writes a code as a picture.
func picture(file string, c *Code) error {
	const scale = 4
	side := c.Columns() * scale
	p := image.NewGray(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			p.SetGray(x, y, color.Gray{255})
			if mx, my := x/scale-quiet, y/scale-quiet; mx >= 0 && my >= 0 && mx < c.size && my < c.size && c.dark[my][mx] {
				p.SetGray(x, y, color.Gray{0})
			}
		}
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, p), f.Close())
}
