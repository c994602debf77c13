package agentsig_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
)

const twoSignals = "CHECKPOINT: T-1\nhalf\n\n`READY_FOR_REVIEW: T-1`\n\nREADY_FOR_REVIEW: T-1\nSummary: it works\n"

// gather returns what a sequence has, and its error.
func gather(r io.Reader, o agentsig.Options) (all []agentsig.Finding, err error) {
	for f, e := range agentsig.Findings(r, o) {
		if e != nil {
			err = errors.Join(err, e)
		} else {
			all = append(all, f)
		}
	}
	return all, err
}

// It finds what [agentsig.Scan] finds, however the output comes.
func TestFindings(t *testing.T) {
	long := strings.Repeat("word ", 20_000) + "\n\n" + twoSignals
	for _, text := range []string{"", "nothing", twoSignals, long} {
		want, err := agentsig.Scan(strings.NewReader(text), agentsig.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text)), "with its end": iotest.DataErrReader(strings.NewReader(text)),
		} {
			got, err := gather(r, agentsig.Options{})
			if diff := cmp.Diff(texts(want.Findings), texts(got)); diff != "" || err != nil {
				t.Errorf("%.20q, %s: %v (-Scan +Findings):\n%s", text, name, err, diff)
			}
		}
	}
}

// texts says what findings are, with all of their spans.
func texts(all []agentsig.Finding) (out []string) {
	for _, f := range all {
		out = append(out, fmt.Sprintf("%s %s %s %s %+v", f.Outcome, f.Signal.Kind, f.Signal.Subject, f.Reason, f.Span))
	}
	return out
}

// What goes wrong comes last, once; what was found before it is there.
func TestFindingsErrors(t *testing.T) {
	broken := errors.New("the pipe is broken")
	got, err := gather(io.MultiReader(strings.NewReader(twoSignals), iotest.ErrReader(broken)), agentsig.Options{})
	if !errors.Is(err, broken) || len(got) != 3 {
		t.Errorf("%d findings, %v", len(got), err)
	}
	if got, err := gather(strings.NewReader(twoSignals), agentsig.Options{Role: "cook"}); err == nil || len(got) != 0 {
		t.Errorf("%d findings with an impossible role, %v", len(got), err)
	}
	if _, err := gather(stuck{}, agentsig.Options{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

// stuck gives nothing, and no error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// A loop that ends reads no further.
func TestFindingsBreak(t *testing.T) {
	r := io.MultiReader(strings.NewReader(twoSignals), iotest.ErrReader(errors.New("it read on")))
	for f, err := range agentsig.Findings(r, agentsig.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Outcome == agentsig.Accepted {
			break
		}
	}
}
