package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"strings"
	"sync"
)

// How many versions of parts are remembered, and how many articles one may have for that.
const (
	maxVersions = 64
	maxArticles = 2000
)

// span is where an article is in a part.
type span struct {
	id       string
	from, to int
}

// articles finds the articles of a part: pieces of it that have an id. None has another one in it, and what others say has no angle
// bracket once it is escaped.
func articles(text string) (all []span) {
	const begin, end = "<article ", "</article>"
	for at := 0; ; {
		from := strings.Index(text[at:], begin)
		if from < 0 {
			return all
		}
		from += at
		length := strings.Index(text[from:], end)
		if length < 0 {
			return all
		}
		at = from + length + len(end)
		tag, _, _ := strings.Cut(text[from:at], ">")
		_, id, _ := strings.Cut(tag, ` id="`)
		if id, _, ok := strings.Cut(id, `"`); ok {
			all = append(all, span{id, from, at})
		}
	}
}

// parts remember what was sent of the parts that pages show, so that who has a version is sent what differs from it. Of a version
// the sums are kept, and not the text.
type parts struct {
	mu    sync.Mutex
	all   map[string]version
	order []string // the oldest first
}

// version is a part as it was sent once: its articles, by their ids.
type version map[string]piece

type piece struct {
	sum   [sha256.Size]byte
	after string // the article directly before it, beside it; empty if there is none
}

// keep remembers a version.
func (p *parts) keep(name string, v version) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.all[name]; ok || len(v) == 0 || len(v) > maxArticles {
		return
	}
	if p.all == nil {
		p.all = map[string]version{}
	}
	p.all[name], p.order = v, append(p.order, name)
	if len(p.order) > maxVersions {
		delete(p.all, p.order[0])
		p.order = append([]string{}, p.order[1:]...)
	}
}

// of returns a version; nil if it is not remembered.
func (p *parts) of(name string) version {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[name]
}

// part makes a part of a page, and gives it the name of its version.
func (p *Page) part(name string, data any) (template.HTML, error) {
	text, v, err := p.made(name, data)
	if err != nil {
		return "", err
	}
	p.parts.keep(v, piecesOf(text, articles(text)))
	return template.HTML(named(text, v)), nil //nolint:gosec // a template has made it
}

// changes makes a part for somebody who has a version of it: articles that are the same there stand in it as their ids, the first
// and the last of some beside each other. It is empty if all of it is the same.
func (p *Page) changes(name string, data any, have string) ([]byte, error) {
	text, v, err := p.made(name, data)
	if err != nil || v == have {
		return nil, err
	}
	all := articles(text)
	now := piecesOf(text, all)
	p.parts.keep(v, now)
	if old := p.parts.of(have); old != nil {
		text = without(text, all, now, old)
	}
	return []byte(named(text, v)), nil
}

func (p *Page) made(name string, data any) (text, version string, err error) {
	views, err := p.views()
	if err != nil {
		return "", "", err
	}
	var made bytes.Buffer
	if err := views.ExecuteTemplate(&made, name, data); err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(made.Bytes())
	return made.String(), hex.EncodeToString(sum[:16]), nil
}

// named gives a part the name of its version, in its first tag.
func named(text, version string) string {
	return strings.Replace(text, ">", ` data-version="`+version+`">`, 1)
}

// piecesOf makes a version of a part's articles.
func piecesOf(text string, all []span) version {
	v := version{}
	before, end := "", 0
	for _, a := range all {
		if strings.TrimSpace(text[end:a.from]) != "" {
			before = ""
		}
		v[a.id] = piece{sha256.Sum256([]byte(text[a.from:a.to])), before}
		before, end = a.id, a.to
	}
	return v
}

// without returns a part without the articles that are the same in another version of it.
func without(text string, all []span, now, have version) string {
	var out strings.Builder
	first, last, end := "", "", 0
	gap := func() {
		if first != "" {
			out.WriteString(`<article data-same="` + first + `" data-to="` + last + `"></article>`)
			first, last = "", ""
		}
	}
	for _, a := range all {
		old, was := have[a.id]
		same := was && old.sum == now[a.id].sum
		if !same || last == "" || now[a.id].after != last || old.after != last {
			gap()
			out.WriteString(text[end:a.from])
		}
		if same {
			if first == "" {
				first = a.id
			}
			last = a.id
		} else {
			out.WriteString(text[a.from:a.to])
		}
		end = a.to
	}
	gap()
	out.WriteString(text[end:])
	return out.String()
}
