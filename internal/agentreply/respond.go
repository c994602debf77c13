package agentreply

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/safetext"
)

// MaxReply is how long a reply is at most, in bytes of compact JSON.
const MaxReply = 3072

// Texts are counted in bytes of JSON.
const (
	maxPath      = 320 // of the file
	maxFileError = 160
	maxVerdict   = 240
	maxNext      = 640
)

// Head is what every snapshot begins with.
type Head struct {
	Verdict string `json:"verdict"` // how things stand, in one line
	Next    string `json:"next"`    // what to do, in one line
	Cut     bool   `json:"cut"`     // something was left out; the file has it, if there is one

	flags flags
	room  int // for the snapshot, in bytes
}

// Flags says what the snapshot means. They were made of everything that is known. Beside a warning none is a success: who reads
// that one alone would be told that nothing is left to do.
func (h Head) Flags() []agentformat.Flag {
	warned := slices.ContainsFunc(h.flags, func(f agentformat.Flag) bool { return f.Severity == agentformat.Warning })
	all := slices.Clone(h.flags)
	for i := range all {
		if warned && all[i].Severity == agentformat.Success {
			all[i].Severity = agentformat.Info
		}
	}
	return all
}

func (h Head) wasCut() bool { return h.Cut }

// snapshot is one of this package.
type snapshot[S any] interface {
	agentformat.Snapshot[S]
	wasCut() bool
	inRoom(bytes int) S // the snapshot, which is to have at most so many bytes when it is capped
}

// respond makes the reply to a snapshot that is not capped yet.
func respond[S snapshot[S]](status string, s S, file agentformat.File) agentformat.Response[S] {
	file = fitFile(file)
	around := agentformat.Respond(status, nothing{s.Flags()}, file)
	return agentformat.Respond(status, s.inRoom(MaxReply-jsontext.Length(around)+len("{}")), file)
}

// fitFile is a file as a reply names it: by a path that is not long, or by why there is none.
func fitFile(file agentformat.File) agentformat.File {
	switch {
	case file.Err != nil:
		return agentformat.File{Err: errors.New(jsontext.Shorten(file.Err.Error(), maxFileError))}
	case jsontext.Shorten(file.Path, maxPath) != file.Path:
		return agentformat.File{Err: errors.New("the file was written, and its path is too long or too strange to be named here: it is the latest in the box's directory, under replies")}
	}
	return file
}

// nothing stands for a snapshot where the length of what is around it is measured.
type nothing struct{ flags []agentformat.Flag }

func (n nothing) Flags() []agentformat.Flag { return n.flags }
func (n nothing) Capped() nothing           { return n }

// Cut reports whether something was left out of a reply, so that a file should have the whole.
func Cut[S interface{ wasCut() bool }](r agentformat.Response[S]) bool { return r.Snapshot.wasCut() }

// List is the beginning of a list.
type List[T any] struct {
	Total int `json:"total"` // of the whole list
	First []T `json:"first"` // a few of it
}

func listOf[T any](all []T) List[T] { return List[T]{len(all), append([]T{}, all...)} }

// keep cuts a list to so many entries, and reports whether that left any out.
func (l *List[T]) keep(most int) bool {
	if len(l.First) <= most {
		return false
	}
	l.First = l.First[:most:most]
	return true
}

// step makes a snapshot shorter; it reports whether it could.
type step func() bool

// fit takes steps, each as often as it helps, until a snapshot has the room that there is; at last it cuts what the head says. It
// reports whether any was taken.
func (h *Head) fit(length func() int, steps ...step) (cut bool) {
	for _, take := range append(steps, shorter(&h.Verdict, 120), shorter(&h.Next, 320), shorter(&h.Next, 160)) {
		for length() > h.room {
			if !take() {
				break
			}
			cut = true
		}
	}
	return cut
}

// down returns the step that drops the last entry of a list which has more than so many.
func down[T any](l *List[T], least int) step {
	return func() bool { return len(l.First) > least && l.keep(len(l.First)-1) }
}

// shorter returns the step that cuts a text to so many bytes.
func shorter(text *string, most int) step {
	return func() bool {
		was := *text
		*text = jsontext.Shorten(was, most)
		return *text != was
	}
}

// WithFile makes a reply, and makes it again with the file of the whole if something was left out of it.
func WithFile[S interface{ wasCut() bool }](made func(agentformat.File) agentformat.Response[S], save func() agentformat.File) agentformat.Response[S] {
	r := made(agentformat.File{})
	if Cut(r) {
		r = made(save())
	}
	return r
}

// Directory is the one of the box's directory in which the wholes of replies are saved, and Kept is how much of it.
const Directory = "replies"

// Kept is how much of what was saved in [Directory] is kept.
var Kept = agentformat.Limits{Files: 100, Bytes: 64 << 20, File: 32 << 20}

// words makes texts fit for a reply, and notes whether one that it has cut was longer.
type words struct {
	who   Reader
	whole bool // nothing is cut: it is for the file
	file  bool // there is a file that has the whole
	cut   bool
}

// words are those of a reply with a file, or with none.
func (who Reader) words(file agentformat.File) words {
	return words{who: who, file: fitFile(file).Path != ""}
}

// whole are those of the file.
func (who Reader) whole() words { return words{who: who, whole: true} }

// part are those of a part of it, of which it is to be known whether something was cut.
func (w *words) part() words { return words{who: w.who, whole: w.whole} }

// all says where all that waits is found, if it is not in the reply.
func (w *words) all() string {
	if w.file {
		return " (file_path has all of them)"
	}
	return ""
}

// where is what has the whole of a question: the file, or the call whose reply has one.
func (w *words) where() string {
	if w.file {
		return "file_path"
	}
	return "list_questions"
}

// quote makes a stranger's text fit for a key that begins with quoted_: escaped, in one line, of at most so many bytes of JSON.
func (w *words) quote(text string, most int) string {
	if w.whole {
		return safetext.Escape(text)
	}
	short := jsontext.Shorten(text, most)
	w.cut = w.cut || len(text) > most || short != safetext.Escape(text) // escaping makes no text shorter
	return short
}

// plainIDs are the bytes besides letters and digits that ids, branches and addresses have.
const (
	inID      = "._-#/"
	inBranch  = "._-#/+@="
	inAddress = "._-#/+@=:?&%~"
)

// Ids are as long as this at most, in bytes. A task's is 128, and has its run's before it.
const (
	maxID      = 180
	maxBranch  = 200
	maxAddress = 240
	maxNamed   = 40 // where several stand in one line
)

// noID stands for an id that is none.
const noID = "?"

// id returns an id if it is one: of a fixed alphabet, in which no sentence can be written, and not too long.
func id(s string) string { return cmp.Or(plain(s, inID, maxID), noID) }

// plain returns text that consists of letters, digits and the characters besides; nothing if it does not, or is longer.
func plain(s, besides string, most int) string {
	if len(s) > most {
		return ""
	}
	for i := range len(s) {
		c := s[i]
		if ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('0' > c || c > '9') && strings.IndexByte(besides, c) < 0 {
			return ""
		}
	}
	return s
}
