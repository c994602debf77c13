// Package settings reads what an owner says of a portfolio, from one YAML file: the accounts,
// which symbols are one for the wash-sale rule, how taxes are filed, and the exit rules.
//
//	accounts:
//	  - {id: schwab-1234, kind: taxable, owner: me, method: fifo, reinvest: true}
//	identical:
//	  - [GOOG, GOOGL]
//	similar:
//	  - [VOO, IVV]
//	filing: joint
//	exit:
//	  index: SPY
//	  rules:
//	    - {name: trend_sma10m, primary: true}
package settings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/safetext"
)

// The ways to file taxes.
const (
	Single            = "single"
	Joint             = "joint"
	MarriedSeparately = "married_separately"
)

// Settings are what the file says, and what holds where it says nothing.
type Settings struct {
	Accounts  []portfolio.Account
	Identical [][]string
	Similar   [][]string
	Filing    string
	Exit      exitrule.Config
}

// Rules are what a book is kept by.
func (s Settings) Rules() lots.Rules {
	return lots.Rules{Accounts: s.Accounts, Identical: s.Identical, Similar: s.Similar}
}

// Account is what is said of an account, or taken of one that nobody described.
func (s Settings) Account(id string) (account portfolio.Account, listed bool) {
	if i := slices.IndexFunc(s.Accounts, func(a portfolio.Account) bool { return a.ID == id }); i >= 0 {
		return s.Accounts[i], true
	}
	return portfolio.Unlisted(id), false
}

// maxBytes is how long a file may be.
const maxBytes = 1 << 20

// The limits of what is in it.
const (
	maxAccounts = 1000
	maxGroups   = 1000
)

// document is the file as it is written.
type document struct {
	Accounts  []entry         `yaml:"accounts"`
	Identical [][]string      `yaml:"identical"`
	Similar   [][]string      `yaml:"similar"`
	Filing    string          `yaml:"filing"`
	Exit      exitrule.Config `yaml:"exit"`
}

// entry is an account as it is written.
type entry struct {
	ID       string `yaml:"id"`
	Kind     string `yaml:"kind"`
	Owner    string `yaml:"owner"`
	Method   string `yaml:"method"`
	Reinvest *bool  `yaml:"reinvest"`
}

// A File is settings as somebody wrote them.
type File struct {
	Settings
	Document []byte
}

// Read reads a file as [Parse] does, and keeps it as it is.
func Read(r io.Reader) (File, error) {
	document, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return File{}, errors.New(safetext.Escape(err.Error())) // it may have the file's name
	}
	s, err := Parse(document)
	return File{s, document}, err
}

// Parse reads what is in a file. What it does not know is an error, with its line.
func Parse(data []byte) (Settings, error) {
	if len(data) > maxBytes {
		return Settings{}, fmt.Errorf("the file has %d bytes; at most %d are read", len(data), maxBytes)
	}
	doc := document{Filing: Single, Exit: exitrule.Default()}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return Settings{}, fmt.Errorf("the file can't be read: %s", plain(err))
	}
	s := Settings{Identical: doc.Identical, Similar: doc.Similar, Filing: doc.Filing, Exit: doc.Exit}
	for _, group := range slices.Concat(s.Identical, s.Similar, [][]string{s.Exit.Basket}) {
		for i := range group {
			group[i] = portfolio.Symbol(group[i]) // as transactions and prices have them
		}
	}
	s.Exit.Index = portfolio.Symbol(s.Exit.Index)
	for _, a := range doc.Accounts {
		kind, method := portfolio.Kind(strings.ToLower(a.Kind)), portfolio.Method(strings.ToLower(a.Method))
		s.Accounts = append(s.Accounts, portfolio.Account{ID: a.ID, Kind: kind, Owner: a.Owner, Method: cmp.Or(method, portfolio.FIFO), Reinvest: a.Reinvest})
	}
	return s, s.check()
}

// plain is what the YAML library says, on one line and without the names of this program's types.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) {
		text = strings.Join(wrong.Errors, "; ")
	}
	text = safetext.Escape(text)
	return misfit.ReplaceAllString(inType.ReplaceAllString(text, ""), "`$1` does not belong here")
}

var (
	inType = regexp.MustCompile(` in type [\w.]+`)
	misfit = regexp.MustCompile("cannot unmarshal !!\\w+ `([^`]*)` into [\\w.\\[\\]*]+")
)

func (s Settings) check() error {
	if len(s.Accounts) > maxAccounts || len(s.Identical)+len(s.Similar) > maxGroups {
		return fmt.Errorf("at most %d accounts and %d groups of symbols are kept", maxAccounts, maxGroups)
	}
	var wrong []error // all at once: a file is mended in one go
	for i, a := range s.Accounts {
		wrong = append(wrong, a.Check())
		if slices.ContainsFunc(s.Accounts[:i], func(b portfolio.Account) bool { return a.ID == b.ID }) {
			wrong = append(wrong, fmt.Errorf("two accounts have the id %q", a.ID))
		}
	}
	grouped := map[string]bool{}
	for _, group := range s.Identical {
		if len(group) < 2 {
			wrong = append(wrong, fmt.Errorf("identical: a group has two symbols or more, not %q", group))
		}
		for _, symbol := range group {
			if grouped[symbol] {
				wrong = append(wrong, fmt.Errorf("identical: %q is in two groups; make them one", symbol))
			}
			grouped[symbol] = true
		}
	}
	for _, group := range s.Similar {
		if len(group) < 2 {
			wrong = append(wrong, fmt.Errorf("similar: a group has two symbols or more, not %q", group))
		}
	}
	if !slices.Contains([]string{Single, Joint, MarriedSeparately}, s.Filing) {
		wrong = append(wrong, fmt.Errorf("filing: taxes are filed single, joint or married_separately, not %.40q", s.Filing))
	}
	if err := s.Exit.Check(); err != nil {
		wrong = append(wrong, fmt.Errorf("exit: %w", err))
	}
	return errors.Join(wrong...)
}
