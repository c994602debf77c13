package agentsig_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/safetext"
)

var update = flag.Bool("update", false, "rewrite what the corpus expects with what the scanner finds")

// TestCorpus runs the conformance corpus: each case as a whole, split at every
// byte, and with CRLF line endings. testdata/README.md describes the format.
func TestCorpus(t *testing.T) {
	cases := 0
	for _, path := range corpusFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			c := readCorpus(t, path)
			cases += len(c.cases)
			for i := range c.cases {
				t.Run(c.cases[i].name, func(t *testing.T) { c.cases[i].check(t) })
			}
			if *update {
				if err := os.WriteFile(path, []byte(c.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	t.Logf("%d cases", cases)
	if cases < 200 {
		t.Errorf("the corpus has %d cases, and should have at least 200", cases)
	}
}

func corpusFiles(t testing.TB) []string {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	return files
}

// corpus is one file of cases.
type corpus struct {
	intro string
	cases []corpusCase
}

type corpusCase struct {
	name    string
	head    []string // the lines before the first block, as written
	options agentsig.Options
	crlf    bool
	input   []corpusInput
	want    string
	text    corpusBlock
}

type corpusInput struct {
	source agentsig.Source
	corpusBlock
}

// corpusBlock is a block of a case: how it is written, and the bytes it stands for.
type corpusBlock struct {
	header string
	lines  []string
	data   []byte
}

var corpusSources = map[string]agentsig.Source{
	"input": agentsig.Voice, "tool": agentsig.Tool, "prompt": agentsig.Prompt,
}

func readCorpus(t testing.TB, path string) *corpus {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c corpus
	parts := strings.Split("\n"+string(data), "\n== ")
	c.intro = strings.TrimPrefix(parts[0], "\n")
	for _, part := range parts[1:] {
		x, err := parseCase(part)
		if err != nil {
			t.Fatalf("%s: case %q: %v", path, x.name, err)
		}
		c.cases = append(c.cases, x)
	}
	return &c
}

func parseCase(part string) (corpusCase, error) {
	part = strings.TrimRight(part, "\n")
	sections := strings.Split(part, "\n--- ")
	head := strings.Split(sections[0], "\n")
	x := corpusCase{name: head[0], head: head[1:], crlf: true}
	for _, line := range x.head {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "role":
			x.options.Role = agentsig.Role(value)
		case "task":
			x.options.Task = value
		case "phase":
			x.options.Phase = agentsig.Phase(value)
		case "nonce":
			x.options.Nonce = value
		case "hosts":
			x.options.Hosts = strings.Fields(value)
		case "crlf":
			x.crlf = value != "no"
		default:
			if !strings.HasPrefix(line, "#") {
				return x, fmt.Errorf("unknown line %q", line)
			}
		}
	}
	for _, section := range sections[1:] {
		lines := strings.Split(section, "\n")
		b := corpusBlock{header: lines[0], lines: lines[1:]}
		name, mods, _ := strings.Cut(b.header, " ")
		var err error
		if b.data, err = blockData(b.lines, mods); err != nil {
			return x, err
		}
		source, isInput := corpusSources[name]
		switch {
		case isInput:
			x.input = append(x.input, corpusInput{source, b})
		case name == "want":
			x.want = strings.TrimRight(strings.Join(b.lines, "\n"), "\n")
		case name == "text":
			x.text = b
		default:
			return x, fmt.Errorf("unknown block %q", name)
		}
	}
	return x, nil
}

var repeat = regexp.MustCompile(`\{\{(\d+)\*([^}]+)\}\}`)

func blockData(lines []string, mods string) ([]byte, error) {
	text := strings.Join(lines, "\n")
	if len(lines) > 0 {
		text += "\n"
	}
	if strings.Contains(mods, "escaped") {
		var b strings.Builder
		for line := range strings.Lines(text) {
			line = repeat.ReplaceAllStringFunc(line, func(m string) string {
				g := repeat.FindStringSubmatch(m)
				n, _ := strconv.Atoi(g[1])
				return strings.Repeat(g[2], n)
			})
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `"`, `\"`)
			s, err := strconv.Unquote(`"` + line + `"`)
			if err != nil {
				return nil, fmt.Errorf("line %.60q: %w", line, err)
			}
			b.WriteString(s + "\n")
		}
		text = b.String()
	}
	if strings.Contains(mods, "no newline") {
		text = strings.TrimSuffix(text, "\n")
	}
	return []byte(text), nil
}

func (c *corpus) String() string {
	var b strings.Builder
	b.WriteString(c.intro)
	for _, x := range c.cases {
		fmt.Fprintf(&b, "\n== %s\n", x.name)
		for _, line := range x.head {
			b.WriteString(line + "\n")
		}
		for _, in := range x.input {
			b.WriteString(in.String())
		}
		b.WriteString("--- want\n" + x.want + "\n" + x.text.String())
	}
	return b.String()
}

func (b corpusBlock) String() string {
	s := "--- " + b.header + "\n"
	for _, line := range b.lines {
		s += line + "\n"
	}
	return s
}

// voice returns what the agent itself says.
func (x *corpusCase) voice() []byte {
	var b []byte
	for _, in := range x.input {
		if in.source == agentsig.Voice {
			b = append(b, in.data...)
		}
	}
	return b
}

func (x *corpusCase) check(t *testing.T) {
	got := x.scan(t, wholeChunks)
	if *update {
		x.want = got.findings
		x.text = renderText(got.text, x.voice())
	}
	if diff := cmp.Diff(x.want, got.findings); diff != "" {
		t.Fatalf("findings (-want +got):\n%s", diff)
	}
	if !x.textIs(got.text) {
		t.Fatalf("clean text:\nwant %.300q\ngot  %.300q", x.text, got.text)
	}
	x.checkSplits(t, got)
	if x.crlf {
		y := *x
		y.input = nil
		for _, in := range x.input {
			in.data = toCRLF(in.data)
			y.input = append(y.input, in)
		}
		again := y.scan(t, wholeChunks)
		if diff := cmp.Diff(got.findings, again.findings); diff != "" {
			t.Fatalf("with CRLF (-LF +CRLF):\n%s", diff)
		}
		if !bytes.Equal(toCRLF(got.text), toCRLF(again.text)) {
			t.Fatalf("clean text with CRLF:\nLF   %.300q\nCRLF %.300q", got.text, again.text)
		}
		y.checkSplits(t, again)
	}
}

func toCRLF(b []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

func (x *corpusCase) textIs(text []byte) bool {
	switch x.text.header {
	case "text", "text (escaped)", "text (no newline)", "text (no newline, escaped)":
		return bytes.Equal(x.text.data, text)
	}
	return x.text.header == renderText(text, x.voice()).header
}

func renderText(text, voice []byte) corpusBlock {
	b := corpusBlock{header: "text", data: text}
	s := string(text)
	var mods []string
	if bytes.Equal(text, voice) {
		return corpusBlock{header: "text (unchanged)", data: text}
	}
	if s == "" {
		return corpusBlock{header: "text (nothing)"}
	}
	if len(s) > 3000 {
		return corpusBlock{header: fmt.Sprintf("text (%d bytes, sha256 %x)", len(s), sha256.Sum256(text)), data: text}
	}
	if strings.TrimSuffix(s, "\n") == s {
		mods = append(mods, "no newline")
	}
	body := strings.TrimRight(s, "\n")
	b.lines = strings.Split(body, "\n")
	blank := max(0, len(s)-len(body)-1) // blank lines at the end, which would not show
	if blank > 0 || safetext.EscapeLines(s) != s || strings.Contains(s, "\n--- ") || strings.Contains(s, "\n== ") {
		mods = append(mods, "escaped")
		for i, line := range b.lines {
			q := strconv.QuoteToASCII(line)
			b.lines[i] = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
		}
		b.lines[len(b.lines)-1] += strings.Repeat(`\n`, blank)
	}
	if mods != nil {
		b.header += " (" + strings.Join(mods, ", ") + ")"
	}
	return b
}

func wholeChunks(b []byte) [][]byte { return [][]byte{b} }

func chunksOf(size int) func([]byte) [][]byte {
	return func(b []byte) [][]byte {
		var chunks [][]byte
		for len(b) > size {
			chunks = append(chunks, b[:size])
			b = b[size:]
		}
		return append(chunks, b)
	}
}

func splitAt(i int) func([]byte) [][]byte {
	return func(b []byte) [][]byte {
		if i >= len(b) {
			return [][]byte{b}
		}
		return [][]byte{b[:i], b[i:]}
	}
}

// checkSplits holds the result for every split in two, and for small chunks,
// against that for the whole. Of long inputs, every fiftieth part is split off.
func (x *corpusCase) checkSplits(t *testing.T, want corpusResult) {
	longest := 0
	for _, in := range x.input {
		longest = max(longest, len(in.data))
	}
	splits := map[string]func([]byte) [][]byte{"bytes": chunksOf(1), "7 bytes": chunksOf(7), "4096 bytes": chunksOf(4096)}
	step, fewest := 1, 50
	if testing.Short() {
		step, fewest = 13, 10
	}
	if longest > 2000 {
		step = longest / fewest
	}
	for i := 1; i < longest; i += step {
		splits[fmt.Sprint("at ", i)] = splitAt(i)
	}
	for name, chunks := range splits {
		got := x.scan(t, chunks)
		if diff := cmp.Diff(want.findings, got.findings); diff != "" {
			t.Fatalf("split %s (-whole +split):\n%s", name, diff)
		}
		if !bytes.Equal(want.text, got.text) {
			t.Fatalf("split %s: clean text\nwhole %.300q\nsplit %.300q", name, want.text, got.text)
		}
	}
}

type corpusResult struct {
	findings string
	text     []byte
}

func (x *corpusCase) scan(t *testing.T, chunks func([]byte) [][]byte) corpusResult {
	t.Helper()
	var all []byte
	var found strings.Builder
	var text []byte
	var last int64 = -1
	s := agentsig.NewScanner(x.options, agentsig.Sink{
		Finding: func(f agentsig.Finding) {
			found.WriteString(renderFinding(f))
			from, to := f.Span.Offset, f.Span.Offset+f.Span.Length
			if from < last || to > int64(len(all)) || sha256.Sum256(all[from:to]) != f.Span.SHA256 {
				t.Errorf("wrong span %d+%d of %s", from, f.Span.Length, renderFinding(f))
			}
			last = from
		},
		Text: func(p []byte) { text = append(text, p...) },
	})
	for _, in := range x.input {
		for _, chunk := range chunks(in.data) {
			all = append(all, chunk...)
			scratch := bytes.Clone(chunk)
			if _, err := s.WriteFrom(in.source, scratch); err != nil {
				t.Fatal(err)
			}
			clear(scratch) // a scanner may not keep what it was given
		}
	}
	v := s.Close()
	switch {
	case v.OK():
		fmt.Fprintf(&found, "verdict signal %s %s %s", v.Kind, word(v.Signal.Subject), v.Action)
	default:
		fmt.Fprintf(&found, "verdict %s - %s", v.Kind, v.Action)
	}
	return corpusResult{found.String(), text}
}

func renderFinding(f agentsig.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d: %s %s %s %s", f.Span.Line, f.Outcome, f.Dialect, word(string(f.Signal.Kind)), word(f.Signal.Subject))
	if f.Reason != "" {
		fmt.Fprintf(&b, " %s", f.Reason)
	}
	if f.Outcome == agentsig.Rejected {
		fmt.Fprintf(&b, ": %s", f.Err)
	}
	b.WriteString("\n")
	if f.Outcome != agentsig.Accepted {
		return b.String()
	}
	if f.LeftOut != nil {
		fmt.Fprintf(&b, "   left out: %s\n", f.LeftOut)
	}
	for _, x := range f.Signal.Fields() {
		value, err := json.Marshal(x.Value)
		if err != nil {
			value = []byte(err.Error())
		}
		if len(value) > 200 {
			value = fmt.Appendf(nil, "%s… (%d bytes)", value[:60], len(value))
		}
		fmt.Fprintf(&b, "   %s = %s\n", x.Name, value)
	}
	return b.String()
}

func word(s string) string {
	switch {
	case s == "":
		return "-"
	case len(s) > 130:
		return fmt.Sprintf("%s…(%d bytes)", s[:20], len(s))
	case strings.ContainsAny(s, " \t") || strconv.QuoteToASCII(s) != strconv.Quote(s) || safetext.Escape(s) != s:
		return strconv.QuoteToASCII(s)
	}
	return s
}
