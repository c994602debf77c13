package agentsig_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// TestFencesAgainstReference holds the scanner's fences against a reading of
// CommonMark that takes its time.
func TestFencesAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	lines := []string{
		"```", "````", "~~~", "~~~~", " ```", "   ```", "    ```", "\t```", "  \t~~~", "``` x", "```a`b", "~~~ `", "``", "~~",
		"```  ", "```\t", "   ~~~~ ", "text", "", "`code`",
	}
	for range rounds(20_000) {
		var doc []string
		for i := range 2 + r.IntN(12) {
			if r.IntN(3) == 0 {
				doc = append(doc, fmt.Sprint("CHECKPOINT: T-", i))
			} else {
				doc = append(doc, lines[r.IntN(len(lines))])
			}
		}
		res, err := agentsig.Scan(strings.NewReader(strings.Join(doc, "\n")), agentsig.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range res.Findings {
			if f.Outcome == agentsig.Accepted {
				got = append(got, f.Signal.Subject)
			}
		}
		if want := outsideFences(doc); !slices.Equal(got, want) {
			t.Fatalf("%q\ngot  %v\nwant %v", doc, got, want)
		}
	}
}

var (
	backtickFence = regexp.MustCompile("^ {0,3}(`{3,})[^`]*$")
	tildeFence    = regexp.MustCompile("^ {0,3}(~{3,}).*$")
)

// outsideFences returns the subjects of the signals that are not in a fence.
func outsideFences(doc []string) (subjects []string) {
	open := ""
	for _, line := range doc {
		if open != "" {
			if regexp.MustCompile("^ {0,3}" + open + open[:1] + "*[ \t]*$").MatchString(line) {
				open = ""
			}
			continue
		}
		if m := backtickFence.FindStringSubmatch(line); m != nil {
			open = m[1]
		} else if m := tildeFence.FindStringSubmatch(line); m != nil {
			open = m[1]
		} else if subject, ok := strings.CutPrefix(line, "CHECKPOINT: "); ok {
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// TestInlineCodeAgainstReference puts a tag into random backticks, backslashes
// and newlines: in inline code, as CommonMark has it, it never counts; where
// neither the paragraph nor its line makes it code, it does.
func TestInlineCodeAgainstReference(t *testing.T) {
	const tag = `<signal type="context_sufficient"/>`
	r := rand.New(rand.NewPCG(4, 2))
	pieces := []string{"`", "``", "```", "a", " ", "\\", "\\\\", "b c", "\nx ", "\ny", "~", "<b>"}
	inside, outside := 0, 0
	for range rounds(40_000) {
		var b strings.Builder
		b.WriteString("p ")
		some := func() {
			for range r.IntN(9) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
		}
		some()
		at := b.Len()
		b.WriteString(tag)
		some()
		doc := b.String()
		res, err := agentsig.Scan(strings.NewReader(doc), agentsig.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := res.Verdict.OK()
		start := strings.LastIndexByte(doc[:at], '\n') + 1
		end := len(doc)
		if i := strings.IndexByte(doc[at:], '\n'); i >= 0 {
			end = at + i
		}
		byParagraph, byLine := inSpan(doc, at), inSpan(doc[start:end], at-start)
		switch {
		case byParagraph && got:
			t.Fatalf("%q: it counts in inline code", doc)
		case !byParagraph && !byLine && !got:
			t.Fatalf("%q: it does not count outside inline code; found %+v", doc, res.Findings)
		case got:
			outside++
		default:
			inside++
		}
	}
	if inside < rounds(1000) || outside < rounds(1000) {
		t.Errorf("%d inside and %d outside", inside, outside)
	}
}

// inSpan reads code spans from left to right, as CommonMark describes it.
func inSpan(text string, at int) bool {
	for i := 0; i < len(text); {
		switch {
		case text[i] == '\\' && i+1 < len(text) && strings.IndexByte("`\\<~", text[i+1]) >= 0:
			i += 2
		case text[i] == '`':
			n := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
			end := -1
			for j := i + n; j < len(text); {
				k := strings.IndexByte(text[j:], '`')
				if k < 0 {
					break
				}
				j += k
				m := len(text[j:]) - len(strings.TrimLeft(text[j:], "`"))
				if m == n {
					end = j + m
					break
				}
				j += m
			}
			if end < 0 {
				i += n
				continue
			}
			if i < at && at < end {
				return true
			}
			i = end
		default:
			i++
		}
	}
	return false
}
