package conductor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/safetext"
)

var (
	errBadAudit   = errors.New("audit is auto, always or never")
	errOtherAudit = errors.New("it keeps what it was started with: leave --audit out to go on with it, or cancel it and run the plan again")
)

// unaudited says why a run of a plan would have no auditor; nothing if it would have one. What is asked for with the plan counts
// before the settings. A sentence is one that was handed in as such: a plan that lies in a file is none, however short it is,
// since what is written there may not be the operator's.
func unaudited(set config.Audit, q api.StartRun, p plan.Plan) (delivery.Unaudited, error) {
	asked := config.Audit(q.Audit)
	if asked != "" && !slices.Contains(config.Audits(), asked) {
		return "", fmt.Errorf("%q: %w", safetext.Escape(q.Audit), errBadAudit)
	}
	switch cmp.Or(asked, set) {
	case config.AuditNever:
		if asked != "" {
			return delivery.UnauditedRequest, nil
		}
		return delivery.UnauditedSettings, nil
	case config.AuditAuto:
		if q.Path == "" && p.IsSentence() {
			return delivery.UnauditedSentence, nil
		}
	}
	return "", nil
}

// keepsAudit refuses to go on with a run if it is asked for that the run has an auditor and it has none, or the other way round.
func (c *Conductor) keepsAudit(subject string, q api.StartRun) (err error) {
	asked := config.Audit(q.Audit)
	c.ledger.WithRun(subject, func(r *delivery.Run) {
		switch {
		case asked == config.AuditAlways && !r.Audits():
			err = fmt.Errorf("%s has no auditor: %w", r.ID, errOtherAudit)
		case asked == config.AuditNever && r.Audits():
			err = fmt.Errorf("%s has an auditor: %w", r.ID, errOtherAudit)
		}
	})
	return err
}
