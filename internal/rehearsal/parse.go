package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
)

// Results are what leaves answer. The zero value lets all succeed.
type Results struct {
	leaves    map[string]leafResults
	otherwise []result
	ticks     []time.Duration // nil if they come when they are due
}

// leafResults are the results of leaves of one name.
type leafResults struct {
	line    int
	results []result
}

// result is what a leaf answers once.
type result struct {
	word        string
	set, global map[string]any
	spent       bt.Spent
}

// words are the results that there are.
const words = "success, failure, running, panic or temporary"

// maxTicks is how many ticks a text may ask for; a run without an end has no more either.
const maxTicks = bt.MaxTicks

// An Error is what is wrong with a results text.
type Error struct {
	Line int
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("results, line %d: %s", e.Line, e.Text) }

// Parse reads results.
func Parse(text string) (Results, error) {
	r := Results{leaves: map[string]leafResults{}}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := r.line(i+1, line); err != nil {
			return Results{}, &Error{i + 1, err.Error()}
		}
	}
	return r, nil
}

func (r *Results) line(number int, line string) error {
	name, rest, quoted, err := cutName(line)
	if err != nil {
		return err
	}
	if name == "ticks" && !quoted {
		if r.ticks != nil {
			return errors.New("there is a second line of ticks")
		}
		r.ticks, err = parseTicks(rest)
		return err
	}
	all, err := parseResults(rest)
	if err != nil {
		return err
	}
	if name == "otherwise" && !quoted {
		if r.otherwise != nil {
			return errors.New("there is a second line otherwise")
		}
		r.otherwise = all
		return nil
	}
	if other, ok := r.leaves[name]; ok {
		return fmt.Errorf("%.80q has results in line %d already: write all of them there", name, other.line)
	}
	r.leaves[name] = leafResults{number, all}
	return nil
}

// cutName takes the name from the beginning of a line.
func cutName(line string) (name, rest string, quoted bool, err error) {
	if line[0] == '"' {
		d := json.NewDecoder(strings.NewReader(line))
		if err := d.Decode(&name); err != nil {
			return "", "", false, fmt.Errorf("the name is no JSON string: %w", err)
		}
		line, quoted = line[d.InputOffset():], true
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), ":"); ok {
			return name, rest, true, nil
		}
	} else if name, rest, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) != "" {
		return strings.TrimSpace(name), rest, false, nil
	}
	return "", "", quoted, errors.New("it needs a leaf's name, a colon, and what the leaf answers: " + words)
}

func parseTicks(text string) ([]time.Duration, error) {
	var all []time.Duration
	for _, word := range strings.Fields(text) {
		at, err := time.ParseDuration(word)
		if err != nil {
			return nil, fmt.Errorf("%.40q is no time: write 0s, 1.5s or 2m", word)
		}
		if at < 0 || len(all) > 0 && at < all[len(all)-1] {
			return nil, fmt.Errorf("%v is before the tick that precedes it", at)
		}
		all = append(all, at)
	}
	if len(all) == 0 || len(all) > maxTicks {
		return nil, fmt.Errorf("there are %d ticks: it takes at least one, and at most %d", len(all), maxTicks)
	}
	return all, nil
}

// parseResults reads words, each with the keys that are set.
func parseResults(text string) ([]result, error) {
	var all []result
	after := "" // the word that what follows belongs to
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] == '{' {
			values, rest, err := cutValues(text)
			if err != nil {
				return nil, err
			}
			if len(all) == 0 {
				return nil, errors.New("keys follow the result that they come with")
			}
			last := &all[len(all)-1]
			switch after {
			case "global":
				last.global = values
			case "spent":
				if last.spent, err = parseSpent(values); err != nil {
					return nil, err
				}
			default:
				last.set = values
			}
			text, after = rest, ""
			continue
		}
		if after != "" {
			break
		}
		end := strings.IndexAny(text, " \t{")
		if end < 0 {
			end = len(text)
		}
		word := text[:end]
		switch word {
		case "success", "failure", "running", "panic", "temporary":
			all = append(all, result{word: word})
		case "global", "spent":
			after = word
		default:
			return nil, fmt.Errorf("%.40q is no result: %s", word, words)
		}
		text = text[end:]
	}
	switch {
	case after == "spent":
		return nil, errors.New(`after spent comes what was used, such as {"tokens": 100, "money": 0.25}`)
	case after == "global":
		return nil, errors.New(`after global come keys and values, such as {"found": true}`)
	case len(all) == 0:
		return nil, errors.New("there is no result: " + words)
	}
	return all, nil
}

// parseSpent reads what a leaf used up.
func parseSpent(values map[string]any) (bt.Spent, error) {
	const unit, most = 1e6, 1e9
	var s bt.Spent
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		x, ok := v.(float64)
		if n, isInt := v.(int); isInt {
			x, ok = float64(n), true
		}
		switch {
		case name != "tokens" && name != "money":
			return s, fmt.Errorf("what was spent is tokens and money, and not %.40q", name)
		case !ok || x < 0 || x > most || name == "tokens" && x != math.Trunc(x):
			return s, fmt.Errorf("%s is a number from 0 to %d, and tokens are whole", name, int(most))
		case name == "tokens":
			s.Tokens = int(x)
		default:
			s.Money = int64(math.Round(x * unit))
		}
	}
	return s, nil
}

// cutValues takes a JSON object from the beginning of a text.
func cutValues(text string) (map[string]any, string, error) {
	d := json.NewDecoder(strings.NewReader(text))
	var object json.RawMessage
	err := d.Decode(&object)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it does not end on this line")
	}
	if err != nil {
		return nil, "", fmt.Errorf("the keys and values are no JSON object: %w", err)
	}
	v, err := bt.ParseValue(object)
	if err != nil {
		return nil, "", err
	}
	values, ok := v.(map[string]any)
	if !ok {
		return nil, "", errors.New("the keys and values are no JSON object")
	}
	return values, text[d.InputOffset():], nil
}
