package web

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults of the settings, put in on purpose, is noticed.
func TestSettingsMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestSettings$", []mutant.Mutant{
		{Name: "who is not logged in sees the settings", File: "web.go",
			Old: `m.HandleFunc("GET /settings", p.in(p.settings))`, New: `m.HandleFunc("GET /settings", func(w http.ResponseWriter, r *http.Request) { p.settings(w, asked{Request: r, client: api.ClientOver(direct{p.o.API}, "")}) })`},
		{Name: "a default looks as if it was set", File: "templates/settings.html", Old: "{{if .Default}}", New: "{{if not .Default}}"},
		{Name: "the address of a webhook is shown", File: "../config/shown.go", Old: `u.Scheme + "://" + u.Hostname() + "/…"`, New: "u.String()"},
		{Name: "a limit that is none looks like nothing allowed", File: "../config/shown.go", Old: `return "no limit"`, New: `return ""`},
		{Name: "each setting has a table of its own", File: "settings.go", Old: "if name == s.Name {", New: "if name == general {"},
	}))
	mutant.All(t, mutant.By("^TestBoxes$", []mutant.Mutant{
		{Name: "a box that is not reached looks well", File: "settings.go", Old: "case m.State == api.MemberNotReached, m.Problem", New: "case m.Problem"},
		{Name: "a box that is not reached has no lag", File: "settings.go", Old: "m.State != api.MemberNotReached && m.Role", New: "m.Role"},
		{Name: "an invitation is this box", File: "templates/settings.html", Old: `(ne .Role "invited")`, New: `.Name`},
	}))
}
