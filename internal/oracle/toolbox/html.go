package toolbox

import (
	"html"
	"slices"
	"strings"
	"unicode"
)

// Elements whose content is not for readers, and those that stand on lines of their own.
var (
	silent = []string{"script", "style", "template", "svg", "iframe", "object", "canvas", "noscript"}
	blocks = []string{"address", "article", "aside", "blockquote", "body", "br", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure",
		"footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "li", "main", "nav", "ol", "option", "p", "pre",
		"section", "select", "table", "tbody", "tfoot", "thead", "title", "tr", "ul"}
)

// textOfHTML returns the text of a page: scripts, styles and tags are out, entities are
// decoded, and white space is what a reader would see. It takes any text, in linear time.
func textOfHTML(page string) string {
	var p paragraphs
	for page != "" {
		text, rest, ok := strings.Cut(page, "<")
		p.text(html.UnescapeString(text))
		if !ok {
			break
		}
		switch {
		case strings.HasPrefix(rest, "!--"):
			_, page, _ = strings.Cut(rest[3:], "-->")
		case rest != "" && (isLetter(rest[0]) || strings.ContainsAny(rest[:1], "/!?")):
			page = p.tag(rest)
		default: // not a tag, for browsers too
			p.text("<")
			page = rest
		}
	}
	return strings.TrimSpace(p.out.String())
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// tag takes a tag, of which the bracket was read, and returns what is after it. That is
// behind the end of the element if its content is silent.
func (p *paragraphs) tag(s string) (rest string) {
	closing := s[0] == '/'
	s = strings.TrimPrefix(s, "/")
	end := strings.IndexFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\r\n\f/>", r) })
	if end < 0 {
		return ""
	}
	name := strings.ToLower(s[:end])
	rest = afterTag(s[end:])
	switch {
	case slices.Contains(blocks, name):
		p.line()
		if name == "pre" {
			p.pre = !closing
		}
		if name == "li" && !closing {
			p.text("- ")
		}
	case name == "td" || name == "th":
		p.text(" ")
	case slices.Contains(silent, name) && !closing:
		return afterElement(rest, name)
	}
	return rest
}

// afterTag returns what comes after a tag's end, which is not in quotes.
func afterTag(s string) string {
	for {
		i := strings.IndexAny(s, `>"'`)
		if i < 0 {
			return ""
		}
		c := s[i]
		s = s[i+1:]
		if c == '>' {
			return s
		}
		_, after, ok := strings.Cut(s, string(c))
		if !ok {
			return ""
		}
		s = after
	}
}

// afterElement returns what comes after the end tag of an element.
func afterElement(s, name string) string {
	for {
		_, rest, ok := strings.Cut(s, "</")
		if !ok {
			return ""
		}
		if len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) {
			return afterTag(rest[len(name):])
		}
		s = rest
	}
}

// paragraphs puts text together with the white space that a reader would see: one blank
// between words, and line breaks where blocks begin and end.
type paragraphs struct {
	out   strings.Builder
	pre   bool // white space stays
	blank bool // white space was read and not written
	mid   bool // in the middle of a line
}

// line begins a new line, unless one was begun.
func (p *paragraphs) line() {
	if p.mid {
		p.out.WriteByte('\n')
	}
	p.blank, p.mid = false, false
}

func (p *paragraphs) text(s string) {
	for _, r := range s {
		switch {
		case p.pre:
			p.out.WriteRune(r)
			p.mid = r != '\n'
		case unicode.IsSpace(r):
			p.blank = true
		default:
			if p.blank && p.mid {
				p.out.WriteByte(' ')
			}
			p.out.WriteRune(r)
			p.blank, p.mid = false, true
		}
	}
}
