package delivery

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/ledger"
)

// Login is what is known of a provider that refuses the login of its agents.
type Login struct {
	Refused  bool      // nobody is started until a person has answered
	Detail   string    // what its program said
	Question string    // that was asked about it
	Retried  time.Time // when a person last said that it may be tried again
}

// refused reports whether a session's end is news of a login: who was started before it was last tried again says nothing
// of what it is now.
func (r *Run) refused(s *Session, how How) bool {
	l := r.Logins[r.Settings.Roles[s.Role].Provider]
	return how == LoggedOut && s.Over == "" && !l.Refused && !s.Started.Before(l.Retried)
}

func (r *Run) providerPaused(_ ledger.Event, p Pause) {
	if p.Login {
		l := r.Logins[p.Provider]
		l.Refused, l.Detail, l.Question = true, p.Detail, ""
		r.Logins[p.Provider] = l
		return
	}
	if p.Until.After(r.Waits[p.Provider]) {
		r.Waits[p.Provider] = p.Until
	}
}

// nextLogin asks about a login that is refused: once, for all tasks.
func (r *Run) nextLogin(Moment) (Write, bool) {
	for _, provider := range slices.Sorted(maps.Keys(r.Logins)) {
		if l := r.Logins[provider]; l.Refused && l.Question == "" {
			return r.event(QuestionAsked, "", Question{
				ID: r.questionID(), Cause: CauseLogin, Provider: provider, Context: cut(l.Detail), Choices: loginChoices,
				Text: fmt.Sprintf("%s refuses the login of its agents: log in with the program, or give it a key, and retry; or halt?", provider),
			}), true
		}
	}
	return Write{}, false
}

// loginAnswered lets a provider's agents be started again, or ends the run.
func (r *Run) loginAnswered(provider, choice string, at time.Time) {
	if choice == ChooseHalt {
		r.stop(Halted)
		return
	}
	r.Logins[provider] = Login{Retried: at}
}
