package modeltest

import (
	"fmt"
	"regexp"
	"strings"
)

// place is a reply of a script.
type place struct {
	conversation *conversation
	turn, reply  int
}

func (p place) get() *reply { return p.conversation.turns[p.turn].replies[p.reply] }

// history is what a request tells about how far its conversation has come.
type history struct {
	prompts []string
	rounds  [][]string // results of calls since the newest prompt, by replies
}

// results are those of the newest reply's calls.
func (h history) results() []string {
	if len(h.rounds) == 0 {
		return nil
	}
	return h.rounds[len(h.rounds)-1]
}

// history counts a reply when its calls have results. All but the last of a turn have
// calls, and what a program may have kept of a reply that was cut is no reply.
func (a *ask) history() history {
	var h history
	previous := user
	for _, m := range a.messages {
		switch m.from {
		case user:
			h.prompts = append(h.prompts, m.text)
			h.rounds = nil
		case result:
			if previous != result {
				h.rounds = append(h.rounds, nil)
			}
			last := len(h.rounds) - 1
			h.rounds[last] = append(h.rounds[last], m.text)
		}
		previous = m.from
	}
	return h
}

// prompt is the user's newest text.
func (h history) prompt() string {
	if len(h.prompts) == 0 {
		return ""
	}
	return h.prompts[len(h.prompts)-1]
}

// choose finds the reply that a request asks for. The error says why there is none.
func choose(scripts []Script, h history) (place, error) {
	for _, s := range scripts {
		for _, c := range s.conversations {
			turn, ok := c.follow(h.prompts)
			if !ok {
				continue
			}
			reached, again := c.turns[turn].reached(h.rounds)
			at := place{c, turn, reached}
			if at.reply >= len(c.turns[turn].replies) {
				return place{}, fmt.Errorf("the script ends: %s has no reply %d to %s", quote(c.name), at.reply+1, quote(h.prompt()))
			}
			r := at.get()
			if want := r.missing(h.results()); want != nil && !again {
				return place{}, fmt.Errorf("%s:%d: no result of a call matches %s, there is %s", s.name, r.line, quote(strings.TrimPrefix(want.String(), "(?m)")), quote(strings.Join(h.results(), "\n")))
			}
			return at, nil
		}
	}
	return place{}, fmt.Errorf("no conversation of the script fits the prompt %s", quote(h.prompt()))
}

// maxAgain is how often the calls before an until: line are made again.
const maxAgain = 20

// reached tells which reply of the turn comes after these results, and whether it is the last one again.
func (t *turn) reached(rounds [][]string) (at int, again bool) {
	times := 0
	for _, results := range rounds {
		next := at + 1
		again = next < len(t.replies) && t.replies[next].until && t.replies[next].missing(results) != nil && times < maxAgain
		if again {
			times++
			continue
		}
		at, times = next, 0
	}
	return at, again
}

// missing returns what the results of the calls before the reply should match, and do not; nil if there is nothing.
func (r *reply) missing(results []string) *regexp.Regexp {
	for _, want := range r.results {
		if !matchesAny(want, results) {
			return want
		}
	}
	return nil
}

// follow tells which turn the newest prompt belongs to, if it is one of this conversation.
// Earlier prompts that fit nothing are passed over. After trouble a prompt can come again,
// or be missing: some programs forget what was not answered.
func (c *conversation) follow(prompts []string) (int, bool) {
	at, fits := -1, false
	for _, p := range prompts {
		next := at + 1
		for next < len(c.turns) && !c.turns[next].fits(p) && c.turns[next].fails() {
			next++
		}
		switch {
		case next < len(c.turns) && c.turns[next].fits(p):
			at, fits = next, true
		default:
			fits = at >= 0 && c.turns[at].fits(p)
		}
	}
	return at, fits
}

// names returns what the named groups of the asked: lines have matched; the newest prompt
// counts.
func (c *conversation) names(prompts []string) map[string]string {
	found := map[string]string{}
	for _, p := range prompts {
		for _, t := range c.turns {
			if !t.fits(p) {
				continue
			}
			for _, re := range t.asked {
				for i, text := range re.FindStringSubmatch(p) {
					if name := re.SubexpNames()[i]; name != "" {
						found[name] = text
					}
				}
			}
		}
	}
	return found
}

// fails reports whether the turn has no answer.
func (t *turn) fails() bool {
	last := t.replies[len(t.replies)-1]
	return last.attempts[len(last.attempts)-1].over()
}

func (t *turn) fits(prompt string) bool {
	for _, re := range t.asked {
		if !re.MatchString(prompt) {
			return false
		}
	}
	return true
}

func matchesAny(re *regexp.Regexp, texts []string) bool {
	for _, t := range texts {
		if re.MatchString(t) {
			return true
		}
	}
	return false
}
