package web

import (
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
)

// settingsView is what the box goes by.
type settingsView struct {
	frame
	From     *api.Settings
	Cluster  *api.ClusterStatus // nil if the box stands alone
	Short    api.InCluster
	Sections []section
}

// Look is how the state of a box of the cluster looks.
func (settingsView) Look(m api.MemberStatus) string {
	switch {
	case m.State == api.MemberNotReached, m.Problem != "":
		return "bad"
	case m.State == api.MemberFetches, m.Role == api.RoleLeaving:
		return "warn"
	case m.State == api.MemberLeads, m.State == api.MemberFollows:
		return "good"
	}
	return ""
}

// Tells says whether it is known how far a box of the cluster is.
func (settingsView) Tells(m api.MemberStatus) bool {
	return m.State != api.MemberNotReached && m.Role != api.RoleInvited
}

// general is the section of settings that have no others beside them.
const general = "general"

// section is the settings that begin with the same word.
type section struct {
	Name     string
	Settings []config.Setting
}

func (p *Page) settings(w http.ResponseWriter, a asked) {
	v := settingsView{frame: p.framed(a, "Settings", "settings", "")}
	status, err := a.client.Status(a.Context())
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	v.From = status.Settings
	if status.Cluster != nil {
		c, err := a.client.Cluster(a.Context())
		if err != nil {
			p.fail(w, a.Request, statusOf(err), err)
			return
		}
		v.Cluster, v.Short = &c, c.Short()
	}
	all, err := p.o.Settings()
	if err != nil {
		p.fail(w, a.Request, http.StatusInternalServerError, err)
		return
	}
	v.Sections = []section{{Name: general}}
	for _, s := range all {
		name, _, _ := strings.Cut(s.Name, ".")
		name, _, _ = strings.Cut(name, "[")
		if name == s.Name {
			v.Sections[0].Settings = append(v.Sections[0].Settings, s)
			continue
		}
		if v.Sections[len(v.Sections)-1].Name != name {
			v.Sections = append(v.Sections, section{Name: name})
		}
		last := &v.Sections[len(v.Sections)-1]
		last.Settings = append(last.Settings, s)
	}
	p.show(w, a.Request, http.StatusOK, "settings.html", v)
}
