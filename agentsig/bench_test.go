package agentsig_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// transcript is 64 MiB of what a coding agent prints, the same every time:
// prose, code, fenced code, diffs and JSON logs, with a signal every 100 KB.
var transcript = sync.OnceValue(func() []byte {
	const size, every = 64 << 20, 100 << 10
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(lines []string) string { return lines[r.IntN(len(lines))] }
	var b bytes.Buffer
	b.Grow(size + 4<<10)
	next := every
	for b.Len() < size {
		if b.Len() >= next {
			next += every
			fmt.Fprintf(&b, "\nREADY_FOR_REVIEW: T-%d\nFiles Modified: main.go\nSummary: done\n\n", r.IntN(1000))
		}
		switch r.IntN(5) {
		case 0:
			for range 2 + r.IntN(6) {
				b.WriteString(pick(prose) + " " + pick(prose) + "\n")
			}
			b.WriteString("\n")
		case 1:
			for range 5 + r.IntN(20) {
				b.WriteString(pick(code) + "\n")
			}
		case 2:
			b.WriteString("```go\n")
			for range 5 + r.IntN(20) {
				b.WriteString(pick(code) + "\n")
			}
			b.WriteString("```\n\n")
		case 3:
			fmt.Fprintf(&b, "diff --git a/f%d.go b/f%d.go\n@@ -1,7 +1,9 @@\n", r.IntN(99), r.IntN(99))
			for range 5 + r.IntN(15) {
				b.WriteString(pick([]string{"+", "-", " "}) + pick(code) + "\n")
			}
		case 4:
			for range 3 + r.IntN(10) {
				fmt.Fprintf(&b, `{"time":"2026-03-%02dT10:00:00Z","level":"info","msg":"%s","request_id":%d,"ok":true}`+"\n",
					1+r.IntN(28), pick(prose), r.IntN(1e6))
			}
		}
	}
	return b.Bytes()[:size]
})

var prose = []string{
	"I looked at the handler and the tests around it.",
	"The failure comes from the retry loop, which never resets its timer.",
	"Next I will change the interface and run everything again, including the slow tests.",
	"This is done; what remains is the documentation of `Config.Timeout` and its default.",
	"As far as I can see nothing else depends on it (I searched for user_id and session_key).",
	"Checking the error path: if a < b the list is empty.",
	"Error handling there is fine, and so is the logging.",
	"Es bleibt noch die Übersetzung der Fehlermeldungen.",
}

var code = []string{
	"func (s *Server) handle(w http.ResponseWriter, r *http.Request) error {",
	"\tif err != nil {",
	"\t\treturn fmt.Errorf(\"read %s: %w\", name, err)",
	"\t}",
	"}",
	"",
	"\tfor i := 0; i < len(items); i++ {",
	"    self.assert_equal(result_list, expected_values)",
	"\tx := <-ch",
	"const MAX_RETRIES = 3",
	"    <div class=\"row\"><span>{{ .Name }}</span></div>",
	"\t// the caller holds s.mu",
	"\ttotal += item.price * item.count",
}

// BenchmarkScan compares the scanner, clean text included, with a plain loop
// over the lines of the same transcript in the same run: x-bare is the
// scanner's throughput over the loop's.
func BenchmarkScan(b *testing.B) {
	data := transcript()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var bare, ours time.Duration
	for b.Loop() {
		start := time.Now()
		lines := bufio.NewScanner(bytes.NewReader(data))
		n := 0
		for lines.Scan() {
			n += len(lines.Bytes())
		}
		bare += time.Since(start)
		if err := lines.Err(); err != nil || n == 0 {
			b.Fatal(n, err)
		}

		start = time.Now()
		text, found := scanAll(b, data)
		ours += time.Since(start)
		if text == 0 || found != 655 {
			b.Fatalf("%d bytes of text, %d signals", text, found)
		}
	}
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "x-bare")
	b.ReportMetric(float64(len(data))*float64(b.N)/ours.Seconds()/1e6, "scan-MB/s")
	b.ReportMetric(float64(len(data))*float64(b.N)/bare.Seconds()/1e6, "bare-MB/s")
}

func scanAll(tb testing.TB, data []byte) (text, found int) {
	s := agentsig.NewScanner(agentsig.Options{}, agentsig.Sink{
		Finding: func(f agentsig.Finding) {
			if f.Outcome == agentsig.Accepted {
				found++
			}
		},
		Text: func(p []byte) { text += len(p) },
	})
	for len(data) > 0 {
		n := min(len(data), 64<<10)
		if _, err := s.Write(data[:n]); err != nil {
			tb.Fatal(err)
		}
		data = data[n:]
	}
	s.Close()
	return text, found
}

// TestNoAllocation scans a transcript without findings.
func TestNoAllocation(t *testing.T) {
	var data []byte
	for line := range bytes.Lines(transcript()[:4<<20]) {
		for _, skip := range []string{"READY_FOR", "Files Mod", "Summary:"} {
			if bytes.HasPrefix(line, []byte(skip)) {
				line = nil
			}
		}
		data = append(data, line...)
	}
	s := agentsig.NewScanner(agentsig.Options{}, agentsig.Sink{
		Finding: func(f agentsig.Finding) { t.Errorf("found %+v", f) },
	})
	if _, err := s.Write(data); err != nil { // grows the scanner's buffers
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(3, func() {
		for p := data; len(p) > 0; {
			n := min(len(p), 10_007)
			if _, err := s.Write(p[:n]); err != nil {
				t.Fatal(err)
			}
			p = p[n:]
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for %d bytes without a finding", allocs, len(data))
	}
}
