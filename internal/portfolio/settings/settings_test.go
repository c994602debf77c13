package settings

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

func TestParse(t *testing.T) {
	s, err := Parse([]byte(`
accounts:
  - {id: schwab, kind: Taxable, owner: me, method: hifo, reinvest: true}
  - id: fidelity
    kind: ira
    owner: me
identical: [[goog, GOOGL]]
similar: [[VOO, IVV]]
filing: married_separately
exit:
  tick: 0.05
  rules:
    - {name: tsmom_12, primary: true}
    - {name: slow, like: trend_sma10m, months: 12}
`))
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	want := []portfolio.Account{
		{ID: "schwab", Kind: portfolio.Taxable, Owner: "me", Method: portfolio.HIFO, Reinvest: &yes},
		{ID: "fidelity", Kind: portfolio.IRA, Owner: "me", Method: portfolio.FIFO},
	}
	if diff := cmp.Diff(want, s.Accounts); diff != "" {
		t.Error(diff)
	}
	rules := s.Rules()
	if len(rules.Identical) != 1 || rules.Identical[0][0] != "GOOG" || len(rules.Similar) != 1 || s.Filing != MarriedSeparately {
		t.Errorf("%+v", s)
	}
	if s.Exit.Tick.String() != "0.05" || s.Exit.Rules[1].Months != 12 || s.Exit.Index != "SPY" {
		t.Errorf("%+v: what the file leaves out is the default", s.Exit)
	}
	if a, listed := s.Account("other"); listed || a.Kind != portfolio.Taxable || a.Method != portfolio.FIFO {
		t.Errorf("%+v, %v", a, listed)
	}
}

func TestParseNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "accounts: []\n"} {
		s, err := Parse([]byte(text))
		if diff := cmp.Diff(exitrule.Default().Index, s.Exit.Index); err != nil || diff != "" || s.Filing != Single {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"accounts: [{id: a, kind: hedge, method: fifo}]":                  "the kind is taxable, ira, roth or 401k",
		"accounts: [{id: a, kind: ira, method: lifo}]":                    "the method is fifo or hifo",
		"accounts: [{kind: ira}]":                                         "an account's id",
		"accounts: [{id: a, kind: ira}, {id: a, kind: ira}]":              "two accounts have the id",
		"accounts: [{id: \"a\\x1b[2J\", kind: ira}]":                      "printable",
		"accounts: [{id: a, kind: hedge}, {id: b, kind: ira, method: x}]": "kind is taxable, ira, roth or 401k, not \"hedge\"\naccount b: the method",
		"accounts: [{id: a, knd: ira}]":                                   "line 1: field knd not found",
		"accounts: [{id: a, kind: ira, reinvest: maybe}]":                 "line 1: `maybe` does not belong here",
		"acounts: []":                 "line 1: field acounts not found",
		"accounts: 7":                 "line 1",
		"identical: [[A]]":            "two symbols or more",
		"identical: [[A, B], [B, C]]": "in two groups",
		"similar: [[]]":               "two symbols or more",
		"filing: alone":               "single, joint or married_separately",
		"exit: {rules: [{name: hunch, primary: true}]}":                   "exit: ",
		"exit: {tick: much}":                                              "not a number",
		strings.Repeat("#", maxBytes+1):                                   "at most",
		"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\naccounts: *c": "line",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

// A file is kept as it is written, and one that is too long is not read to its end.
func TestRead(t *testing.T) {
	const document = "filing: joint # ours\n"
	f, err := Read(strings.NewReader(document))
	if err != nil || string(f.Document) != document || f.Filing != Joint {
		t.Errorf("%+v, %v", f, err)
	}
	long := strings.NewReader(strings.Repeat("#", 2*maxBytes))
	if _, err := Read(long); err == nil || !strings.Contains(err.Error(), "at most") || long.Len() != maxBytes-1 {
		t.Errorf("%d bytes were not read, %v", long.Len(), err)
	}
	if _, err := Read(iotest.ErrReader(errors.New("read \x1b: is a directory"))); err == nil || err.Error() != `read \x1b: is a directory` {
		t.Error(err)
	}
}
