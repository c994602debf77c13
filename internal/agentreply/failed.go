package agentreply

import (
	"errors"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
)

// FailedSnapshot is what failed. It has what every snapshot begins with, and the reason.
type FailedSnapshot struct {
	Head
	Reason string `json:"quoted_reason"` // as the box or the program says it, which may repeat what was asked for
}

// maxReason is how much of a reason a reply has, in bytes of JSON.
const maxReason = 1200

// problems says which flag stands for a problem's code.
var problems = map[string]string{
	api.CodeNotFound: FlagNotFound, api.CodeConflict: FlagRefused, api.CodeHeld: FlagRefused, api.CodeNothing: FlagNotFound,
	api.CodeInvalid: FlagInvalid, api.CodeUsage: FlagInvalid, api.CodeUnauthorized: FlagUnauthorized, api.CodeForbidden: FlagUnauthorized,
	api.CodeBusy: FlagTryAgain, api.CodeStopping: FlagTryAgain, api.CodeUnknown: FlagTryAgain, api.CodeNoLeader: FlagTryAgain,
	api.CodeCannotWrite: FlagBoxNotWritable, api.CodeInternal: FlagFailed, api.CodeFailed: FlagFailed,
}

// ErrNotSetUp is that nobody is named in the settings who could deliver a plan.
var ErrNotSetUp = errors.New("nothing is set up here yet")

// Failed is the reply to what failed.
func Failed(err error) agentformat.Response[FailedSnapshot] { return Refused("", err) }

// Refused is the reply to a call that failed. The call is named by its tool and, if it was about one thing, the id of that: "retry R7.T-2".
func Refused(call string, err error) agentformat.Response[FailedSnapshot] {
	var w words
	name := FlagFailed
	problem := new(api.Problem)
	switch {
	case errors.As(err, &problem):
		if flag, ok := problems[problem.Code]; ok {
			name = flag
		}
	case errors.Is(err, ErrNotSetUp):
		name = FlagNotSetUp
	case errors.Is(err, api.ErrNoBox), errors.Is(err, api.ErrNotRunning):
		name = FlagNoBox
	}
	kind := kinds[name]
	s := FailedSnapshot{Reason: w.quote(err.Error(), maxReason)}
	s.Cut = w.cut
	s.flags.add(name, "%s", kind.Meaning)
	how := " was not done: "
	if name == FlagRefused {
		how = " was refused: "
	}
	s.Verdict, s.Next = called(call)+how+kind.Meaning, strings.ReplaceAll(kind.Do, "`", "")+"; quoted_reason says what happened"
	return respond(agentformat.StatusError, s, agentformat.File{})
}

// called is the name of a call: a tool's, and an id at most, so that no sentence can be written there.
func called(call string) string {
	const lower = "abcdefghijklmnopqrstuvwxyz_"
	tool, about, _ := strings.Cut(call, " ")
	if tool == "" || len(tool) > maxNamed || strings.Trim(tool, lower) != "" {
		return "it"
	}
	if about = plain(about, inID, maxNamed); about != "" {
		return tool + " " + about
	}
	return tool
}

func (s FailedSnapshot) inRoom(bytes int) FailedSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent: it is never long.
func (s FailedSnapshot) Capped() FailedSnapshot {
	s.fit(func() int { return jsontext.Length(s) }, shorter(&s.Reason, 200))
	return s
}
