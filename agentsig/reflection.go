package agentsig

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Reflection is a self-reflection signal: what a model says about its own turn.
// Its JSON form is that of a parsed signal: type, confidence, fields, raw_xml
// and timestamp.
type Reflection struct {
	Type       Kind      `json:"type"`
	Confidence float64   `json:"confidence"` // from 0 to 1; 0.5 where none could be read
	Fields     Fields    `json:"fields"`
	RawXML     string    `json:"raw_xml"`
	Timestamp  time.Time `json:"timestamp,omitzero"`

	// Defaulted says that no confidence could be read.
	Defaulted bool `json:"-"`
	// Dropped names the optional fields that could not be used.
	Dropped []string `json:"-"`
	// Unknown names the fields that signals of this type do not have: child elements
	// that the model made up. They are the last of Fields, as texts or lists of texts.
	Unknown []string `json:"unknown,omitempty"`
}

const (
	defaultConfidence = 0.5
	maxInteger        = 999_999_999

	maxUnknown     = 16 // fields that are kept of those that a signal does not have
	maxUnknownName = 64 // bytes
	maxUnknownText = 500
)

// reservedNames are what [Signal.Fields] says beside the fields.
var reservedNames = []string{"confidence", "defaulted", "dropped", "unknown"}

// ParseReflection reads the self-reflection signal in a model's reply, and
// returns false if there is none that is valid. The time is the signal's
// timestamp; it is kept in UTC.
func ParseReflection(reply string, at time.Time) (Reflection, bool) {
	var found *Reflection
	scanText(reply, Options{}, func(f Finding) {
		if r, ok := f.Signal.Reflection(); ok && f.Outcome == Accepted {
			found = &r
		}
	})
	if found == nil {
		return Reflection{}, false
	}
	found.Timestamp = at.UTC()
	return *found, true
}

func (r Reflection) allFields() Fields {
	f := append(slices.Clone(r.Fields), Field{"confidence", r.Confidence})
	if r.Defaulted {
		f = append(f, Field{"defaulted", []string{"confidence"}})
	}
	if len(r.Dropped) > 0 {
		f = append(f, Field{"dropped", r.Dropped})
	}
	if len(r.Unknown) > 0 {
		f = append(f, Field{"unknown", r.Unknown})
	}
	return f
}

// NeedTurn asks for another turn.
type NeedTurn struct {
	Reason        string
	ExpectedTurns int // 0 if not said
}

// ContextSufficient says that the reply is the answer.
type ContextSufficient struct {
	SourcesFound int
	SourceTypes  []string
}

// Stuck says that the model cannot go on.
type Stuck struct {
	Attempted   []string
	Blocker     string
	Suggestions []string
}

// NeedCapability says what the model lacks.
type NeedCapability struct {
	Capability string
	Reason     string
	Workaround string
}

// PartialAnswer says that the reply answers a part.
type PartialAnswer struct {
	Missing string
	Caveat  string
}

// DelegationRecommended says that another agent should do a part.
type DelegationRecommended struct {
	Reason          string
	Scope           string
	EstimatedTokens int // 0 if not said
	SubagentType    string
}

// View returns the signal as a [NeedTurn], [ContextSufficient], [Stuck],
// [NeedCapability], [PartialAnswer] or [DelegationRecommended], for a type switch.
func (r Reflection) View() any {
	f := r.Fields
	switch r.Type {
	case KindNeedTurn:
		return NeedTurn{f.Text("reason"), f.number("expected_turns")}
	case KindContextSufficient:
		return ContextSufficient{f.number("sources_found"), f.List("source_types")}
	case KindStuck:
		return Stuck{f.List("attempted"), f.Text("blocker"), f.List("suggestions")}
	case KindNeedCapability:
		return NeedCapability{f.Text("capability"), f.Text("reason"), f.Text("workaround")}
	case KindPartialAnswer:
		return PartialAnswer{f.Text("missing"), f.Text("caveat")}
	case KindDelegationRecommended:
		return DelegationRecommended{f.Text("reason"), f.Text("scope"), f.number("estimated_tokens"), f.Text("subagent_type")}
	}
	return nil
}

// newReflection makes a reflection of the kind e out of what its block says. It fails
// only for a required text or list that is missing or of the wrong size.
func newReflection(e *Entry, says *xmlBlock) (*Reflection, error) {
	r := &Reflection{Type: e.Kind, RawXML: says.raw}
	r.Confidence, r.Defaulted = confidence(says)
	for _, k := range e.Keys {
		texts := says.values(k.Name)
		value, problem := k.value(texts)
		switch {
		case problem == "" && value != nil:
			r.Fields = append(r.Fields, Field{k.Name, value})
		case problem == "":
		case k.Required:
			return r, fmt.Errorf("%s of %s %s", k.Name, e.Wire, problem)
		default:
			r.Dropped = append(r.Dropped, k.Name)
		}
	}
	r.keepUnknown(e, says)
	return r, nil
}

// keepUnknown keeps the first child elements that a signal of this kind does not have. Of
// several of one name the last counts.
func (r *Reflection) keepUnknown(e *Entry, says *xmlBlock) {
	var names []string
	texts := map[string]string{}
	for _, element := range says.elements {
		name := element.name
		if len(name) > maxUnknownName || slices.Contains(reservedNames, name) || slices.ContainsFunc(e.Keys, func(k Key) bool { return k.Name == name }) {
			continue
		}
		if _, seen := texts[name]; !seen {
			if len(names) == maxUnknown {
				continue
			}
			names = append(names, name)
		}
		texts[name] = plainText(element.text)
	}
	for _, name := range names {
		text := texts[name]
		switch items, list := arrayItems(text); {
		case text == "":
		case utf8.RuneCountInString(text) > maxUnknownText:
			r.Dropped = append(r.Dropped, name)
		case list:
			r.Fields, r.Unknown = append(r.Fields, Field{name, items}), append(r.Unknown, name)
		default:
			r.Fields, r.Unknown = append(r.Fields, Field{name, text}), append(r.Unknown, name)
		}
	}
}

// value reads a field from the texts given for it. A nil value without a
// problem is a field that was left out.
func (k Key) value(texts []string) (value any, problem string) {
	if k.Type == ListKey {
		var list []string
		for _, t := range texts {
			list = append(list, listItems(t)...)
		}
		switch {
		case len(list) < k.Min:
			return nil, fmt.Sprintf("has %d entries, and needs at least %d", len(list), k.Min)
		case len(list) == 0:
			return nil, ""
		}
		return list, ""
	}
	if len(texts) == 0 {
		switch {
		case k.zero:
			return 0, ""
		case !k.Required:
			return nil, ""
		}
		return nil, "is missing"
	}
	text := plainText(texts[len(texts)-1])
	if k.Type == IntKey {
		n, ok := integer(text)
		switch {
		case ok && (n < k.Min || n > k.Max) && (n != 0 || !k.zero):
			return nil, fmt.Sprintf("is %d, and has to be from %d to %d", n, k.Min, k.Max)
		case !ok && !k.zero:
			return nil, "is not a whole number"
		}
		return n, ""
	}
	if n := utf8.RuneCountInString(text); n < k.Min || n > k.Max {
		return nil, fmt.Sprintf("has %d characters, and needs %d to %d", n, k.Min, k.Max)
	}
	if text == "" {
		return nil, ""
	}
	return text, ""
}

// integer reads ASCII digits; what is unreadable is 0.
func integer(s string) (n int, ok bool) {
	if s == "" || len(s) > 9 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// confidence reads the element, then the attribute.
func confidence(says *xmlBlock) (value float64, defaulted bool) {
	texts := says.values("confidence")
	if len(texts) == 0 {
		return defaultConfidence, true
	}
	text, percent := strings.CutSuffix(plainText(texts[len(texts)-1]), "%")
	text = strings.TrimSpace(text)
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return defaultConfidence, true
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return defaultConfidence, true
	}
	if percent {
		v /= 100
	}
	return min(max(v, 0), 1), false
}

// listItems reads a list as it is written: a JSON array, child elements, or else
// the text as its one element. Empty elements are left out.
func listItems(raw string) []string {
	items, ok := childTexts(raw)
	if !ok {
		text := plainText(raw)
		if items, ok = arrayItems(text); !ok {
			items = []string{text}
		}
	}
	return slices.DeleteFunc(items, func(s string) bool { return s == "" })
}

func arrayItems(text string) ([]string, bool) {
	var array []any
	if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &array) != nil {
		return nil, false
	}
	var items []string
	for _, v := range array {
		switch v := v.(type) {
		case string:
			items = append(items, strings.TrimSpace(v))
		case float64:
			items = append(items, strconv.FormatFloat(v, 'g', -1, 64))
		default:
			return nil, false
		}
	}
	return items, true
}
