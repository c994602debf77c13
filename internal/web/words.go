package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/runview"
	"github.com/signalbox-dev/signalbox/safetext"
)

// words are what templates call besides what [runview.Parse] brings.
func (p *Page) words() template.FuncMap {
	return template.FuncMap{
		"short": func(commit string) string { return safetext.Escape(fmt.Sprintf("%.7s", commit)) },
		"clock": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"ago":   func(t time.Time) string { return ago(p.o.Now().Sub(t)) },
		"part":  p.part,
		"usage": usageOf,
		"cause": func(c delivery.Cause) string { return safetext.Escape(strings.ReplaceAll(string(c), "_", " ")) },
		"phase": func(p agentsig.Phase) string { return safetext.Escape(runview.PhaseWords(p)) },
	}
}

// ago says how long something is ago.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// did are the words for what a form has done, of which the address says which.
var did = map[string]string{
	"answered": "is answered",
	"accepted": "is accepted",
	"back":     "is sent back",
	"pause":    "is paused",
	"resume":   "goes on",
	"cancel":   "is cancelled",
	"gaveup":   "is given up",
	"give":     "is given back: agents go on with it",
	"drain":    "takes nothing new",
	"undrain":  "takes work again",
	"start":    "is started",
	"tell":     "is told: the agent on it now, or the next one",
	"retry":    "is tried again",
}

// said says what a form has done. The address could be anybody's, so it says no more than that.
func said(which, what string) string {
	if did[which] == "" {
		return ""
	}
	return safetext.Cut(safetext.Escape(what), 80) + " " + did[which]
}

// scopeNeeded says what is missing to somebody who may not do something.
func scopeNeeded(s access.Scope) string {
	return fmt.Sprintf("this browser may not do that: `signalbox page --scope %s` prints a link for one that may", s)
}
