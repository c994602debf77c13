package sim_test

import (
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// drawAudit draws whether the run has an auditor, which most have. Without one, it may be that nobody plays the role.
func (w *world) drawAudit(c *config.Config) {
	c.Audit = pick(w, []config.Audit{config.AuditAuto, config.AuditAlways})
	if w.chance(12) {
		c.Audit = config.AuditNever
	}
	if w.chance(10) {
		w.asked = string(pick(w, config.Audits()))
	}
	w.config.Audit = c.Audit
	if w.light() && w.chance(20) {
		c.Roles.Auditor.Agent = "nobody"
	}
}

// light reports whether the run is one without an auditor. Its plan lies in a file, so it is no sentence.
func (w *world) light() bool {
	return w.asked == string(config.AuditNever) || w.asked == "" && w.config.Audit == config.AuditNever
}

// light reports whether the run was started without an auditor.
func (j *judge) light() bool { return j.set.Settings.Unaudited != "" }

// auditWaived is the box's word that nobody audits a task.
func (j *judge) auditWaived(t *taskFacts, e ledger.Event, p work.Waived) error {
	switch {
	case e.Actor != work.BoxActor || !j.light():
		return breaks("%s says that nobody audits %s, and the run has an auditor: %v", e.Actor, t.id, !j.light())
	case t.phase != agentsig.PhaseReadyForMerge || t.holder != "" || t.audited || t.same || j.dead(t) || j.stopping:
		return breaks("nobody audits %s: %+v", t.id, *t)
	case t.passed == 0 || !t.reviewed || p.Review != t.passed || p.Shown != t.shownAt || p.Start != 1:
		return breaks("nobody audits %s, by the review of event %d on what event %d shows; the critic passed it with event %d on event %d", t.id, p.Review, p.Shown, t.passed, t.shownAt)
	case p.Commit != t.shown || !strings.HasPrefix(t.seen[agentsig.RoleCritic], p.Tree+" from ") || !t.byHand && p.Commit != t.gated:
		return breaks("nobody audits %s at %s with the tree %s; the critic saw %s with %v, and the gate %s", t.id, p.Commit, p.Tree, t.shown, t.seen, t.gated)
	}
	t.audited, t.waived, t.verdict, t.proposed, t.approved = true, true, j.seen, nil, 0
	return nil
}
