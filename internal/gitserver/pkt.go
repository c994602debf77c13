package gitserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/signalbox-dev/signalbox/safetext"
)

// What git's client says comes in lines, each with its length before it in four digits; 0000 ends a list. A list is read
// here as a whole before git sees a byte of it, and passed on as it is; what follows it, a pack or the names of what the
// client has, is for git alone.

const (
	maxLine  = 65520   // bytes, as git has it
	maxLists = 1 << 20 // bytes of all lines of a list
)

// What the client may ask for besides, by name or up to the equals sign. What is not here is not advertised either, so
// that git does not ask.
var (
	fetchWords = []string{"multi_ack", "multi_ack_detailed", "no-done", "thin-pack", "side-band", "side-band-64k", "ofs-delta", "shallow",
		"no-progress", "object-format", "agent"}
	pushWords = []string{"report-status", "report-status-v2", "side-band-64k", "quiet", "ofs-delta", "object-format", "agent"}
)

// malformed says that a request is none of git's.
type malformed struct{ words string }

func (e malformed) Error() string { return e.words }

// refusal says, in words for the client's git, why something that git could do is not done.
type refusal struct {
	words    string
	sideband bool // the client takes words beside the answer
}

func (e refusal) Error() string { return e.words }

// list is a list of lines as they came.
type list struct {
	lines [][]byte // without the newline at their ends
	raw   bytes.Buffer
}

// readList reads lines until one that ends the list. No more than that is read.
func readList(in io.Reader) (*list, error) {
	l := &list{}
	for {
		line, err := readLine(io.TeeReader(in, &l.raw))
		if err != nil || line == nil {
			return l, err
		}
		if l.raw.Len() > maxLists {
			return l, malformed{fmt.Sprintf("there are more than %d bytes before the first list ends", maxLists)}
		}
		l.lines = append(l.lines, bytes.TrimSuffix(line, []byte("\n")))
	}
}

// readLine reads a line; nil is the end of a list.
func readLine(in io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, cut(err)
	}
	size, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err != nil || size > maxLine || size > 0 && size <= 4 || bytes.ContainsAny(head[:], "+-_"):
		return nil, malformed{fmt.Sprintf("%s is not the length of a line", safetext.Escape(string(head[:])))}
	case size == 0:
		return nil, nil
	}
	line := make([]byte, size-4)
	_, err = io.ReadFull(in, line)
	return line, cut(err)
}

// cut tells a request that ends too early from one that can't be read.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed{"the request ends inside of its first list"}
	}
	return err
}

// push is what a client asks to have made.
type push struct {
	ref, commit string
	sideband    bool
}

// parsePush looks at the commands of a push, of which there are some: it has to be one, which makes a ref that was not there.
func parsePush(l *list, format string) (push, error) {
	line, words, found := strings.Cut(string(l.lines[0]), "\x00")
	for _, other := range []string{"shallow ", "push-cert"} {
		if strings.HasPrefix(line, other) {
			return push{}, refusal{words: "a push from a history that is cut off, or with a signature of its own, is not taken: push without"}
		}
	}
	f := strings.SplitN(line, " ", 3)
	if !found || len(f) != 3 || strings.ContainsFunc(words, unicode.IsControl) || !isName(f[0], format) || !isName(f[1], format) {
		return push{}, malformed{"the first line is no command with what the client can do"}
	}
	asked, err := parseWords(words, pushWords, format)
	p := push{f[2], f[1], slices.Contains(asked, "side-band-64k")}
	refuse := func(words string) (push, error) { return push{}, refusal{words, p.sideband} }
	switch {
	case err != nil:
		return refuse(err.Error())
	case len(l.lines) > 1:
		return refuse("a push may make one ref, and do nothing else")
	case strings.Trim(p.commit, "0") == "":
		return refuse("no ref may be deleted")
	case strings.Trim(f[0], "0") != "":
		return refuse("a ref that is there is never moved: push under a new name")
	}
	return p, nil
}

// parseWants looks at what a client wants: it returns the names of objects.
func parseWants(l *list, format string) ([]string, error) {
	var wants []string
	for i, line := range l.lines {
		line, words := string(line), ""
		if want, rest, _ := strings.Cut(line, " "); i == 0 && want == "want" {
			line, words, _ = strings.Cut(rest, " ")
			line = "want " + line
		}
		if strings.ContainsFunc(words, unicode.IsControl) {
			return nil, malformed{"the first line is none of git's"}
		}
		if _, err := parseWords(words, fetchWords, format); err != nil {
			return nil, refusal{words: err.Error()}
		}
		verb, value, _ := strings.Cut(line, " ")
		depth, err := strconv.ParseUint(value, 10, 31)
		switch {
		case verb == "want" && isName(value, format):
			wants = append(wants, value)
		case verb == "shallow" && i > 0 && isName(value, format), verb == "deepen" && i > 0 && err == nil && depth > 0:
		case verb == "filter" || strings.HasPrefix(verb, "deepen-"):
			return nil, refusal{words: "a fetch may leave out what is older than a number of commits (--depth), and nothing else"}
		default:
			return nil, malformed{fmt.Sprintf("line %d of the request asks for nothing that there is", i+1)}
		}
	}
	return wants, nil
}

// parseWords reads what a client asks for besides.
func parseWords(words string, allowed []string, format string) ([]string, error) {
	all := strings.Fields(words)
	for _, word := range all {
		name, value, _ := strings.Cut(word, "=")
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("%s is not done here", safetext.Escape(name))
		}
		if name == "object-format" && value != format {
			return nil, fmt.Errorf("objects are named by %s here, not by %s", format, safetext.Escape(value))
		}
	}
	return all, nil
}

// isName reports whether this is an object's name in full.
func isName(s, format string) bool {
	return len(s) == map[string]int{"sha1": 40, "sha256": 64}[format] && strings.Trim(s, "0123456789abcdef") == ""
}

// curb takes out of an advertisement what is not done here. It tells of no other ref, not even of what HEAD stands for.
func curb(advertisement []byte, allowed []string) ([]byte, error) {
	in := bytes.NewReader(advertisement)
	line, err := readLine(in)
	if err != nil {
		return nil, err
	}
	refs, words, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\x00")
	kept := slices.DeleteFunc(strings.Fields(words), func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		return !slices.Contains(allowed, name)
	})
	return append(pkt(refs+"\x00"+strings.Join(kept, " ")+"\n"), advertisement[len(advertisement)-in.Len():]...), nil
}

// pkt is a line as it is sent.
func pkt(text string) []byte { return fmt.Appendf(nil, "%04x%s", len(text)+4, text) }

// maxRef is how long the name of a ref may be, in bytes.
const maxRef = 512

// RefName reports whether this is the full name of a ref that git takes, and that means the same in git's settings.
func RefName(name string) bool {
	if len(name) > maxRef || !strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, " ~^:?*[\\\x7f") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
}
