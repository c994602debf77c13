package sim_test

import (
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// repairChecked is the gate's word on what remediation committed.
func (j *judge) repairChecked(p delivery.Repair) error {
	m := &j.remediation
	if !m.on || !m.verify {
		return breaks("the repair %s is checked, and nobody called the environment healthy", p.Commit)
	}
	if j.repairing() != "" {
		return breaks("the repair %s is checked before %s has ended", p.Commit, j.repairing())
	}
	m.gated, m.reviewed = p.Commit, ""
	for _, c := range p.Checks {
		if !c.Passed && !m.declared && !slices.Contains(j.tolerated, c.Name) {
			m.gated, m.verify, m.healthy = "", false, false
		}
	}
	if m.declared && j.set.Settings.Roles[agentsig.RoleCritic].Agent == "" {
		m.gated = ""
	}
	return nil
}

// repairing names an agent of remediation that has not ended.
func (j *judge) repairing() string {
	for id, s := range j.live {
		if s.round != 0 {
			return id
		}
	}
	return ""
}

// sentBack notes that a repair that waited for a critic, or for its merge, waits no
// more. If a person declared the environment healthy, the checks run without it.
func (j *judge) sentBack() {
	m := &j.remediation
	m.gated, m.reviewed = "", ""
	if !m.declared {
		m.verify, m.healthy = false, false
	}
}

func (j *judge) repairReviewed(e ledger.Event, s *sessionFacts, p delivery.RepairReview) error {
	m := &j.remediation
	m.approved = false
	if m.accepted && s == nil && work.ByOperator(e.Actor) && p.Passed && p.Commit == m.gated {
		m.gated, m.reviewed, m.verdict, j.passed[p.Commit] = "", p.Commit, j.seen, true
		return nil
	}
	switch {
	case s == nil || s.over || s.role != agentsig.RoleCritic || s.task != "":
		return breaks("the repair %s is reviewed by %s", p.Commit, e.Session)
	case p.Commit != m.gated || p.Commit != s.commit:
		return breaks("%s reviews %s, was started on %s, and %q waits for a critic", e.Session, p.Commit, s.commit, m.gated)
	}
	delete(j.unknown, j.unknownKey(s))
	j.over(s)
	m.gated = ""
	if !p.Passed {
		j.sentBack()
		return nil
	}
	m.reviewed, m.verdict, j.passed[p.Commit] = p.Commit, j.seen, true
	return nil
}

func (j *judge) repairMerged(e ledger.Event, p delivery.RepairMerge) error {
	m := &j.remediation
	if p.Commit != m.reviewed || !j.passed[p.Commit] {
		return breaks("the repair %s is merged, and the critic's word is on %q", p.Commit, m.reviewed)
	}
	if e.Type == delivery.RepairUnmerged {
		j.sentBack()
		return nil
	}
	m.reviewed, j.repaired = "", true
	j.outdate()
	j.baselineChecked(delivery.Baseline{Commit: p.Merge, Checks: p.Checks})
	return nil
}
