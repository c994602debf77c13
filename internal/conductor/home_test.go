package conductor

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// boxes is a runner that is home to the runs of two boxes: this one's, and c's.
type boxes struct {
	*hands
	c *hands
}

func (b boxes) Of(home string) order.Runner {
	if home == "c" {
		return b.c
	}
	return b.hands
}

// begun starts a conductor of two boxes, of which c can be away.
func begun(t *testing.T, away *bool) (*Conductor, *conductortest.Ledger, boxes) {
	t.Helper()
	l, x := conductortest.New(t.Context(), time.Now), boxes{newHands(), newHands()}
	c := New(l, Options{Config: settings(t, ""), Machines: func(home string) []delivery.Machine {
		if home == "c" && *away {
			return []delivery.Machine{{Away: true}}
		}
		return nil
	}})
	if err := c.Start(t.Context(), x, time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c, l, x
}

// A run begins at the box that was asked, which is recorded, and its orders go there. One that was asked of this box is this box's.
func TestHomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := false
		c, l, x := begun(t, &away)
		for home, its := range map[string]*hands{"c": x.c, "": x.hands} {
			r, err := c.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: strings.ReplaceAll(onePlan, "T-1", "T-"+home+"1"), Home: home}, "")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if c.homeOf(r.Subject) != home || len(its.given) != 1 || its.given[0].Do != delivery.DoBaseline || its.given[0].Run.Home != home {
				t.Errorf("the run at %q: %q, its orders %+v", home, c.homeOf(r.Subject), its.given)
			}
		}
		homes := 0
		for _, e := range l.Events(0) {
			if e.Type == delivery.RunStarted && strings.Contains(string(e.Payload), `"home":"c"`) {
				homes++
			}
		}
		if homes != 1 {
			t.Errorf("%d runs are recorded to be at home at c", homes)
		}
	})
}

// While its home is away, nothing of a run begins that this conductor has not gone on with yet: what is not protected there is not known. It goes on
// when home is there.
func TestHomeAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := true
		c, _, x := begun(t, &away)
		if _, err := c.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan, Home: "c"}, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(x.c.given) != 0 {
			t.Errorf("given is %+v", x.c.given)
		}
		away = false
		c.MachinesChanged()
		synctest.Wait()
		if len(x.c.given) == 0 || x.c.given[0].Do != delivery.DoBaseline || len(x.given) != 0 {
			t.Errorf("given is %+v, and to the other home %+v", x.c.given, x.given)
		}
	})
}

// A box that is not reached begins no run, and says so.
func TestHomeNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := true
		c, l, x := begun(t, &away)
		for _, method := range []string{"Ready", "Begin"} {
			x.c.set(func() { x.c.fails = map[string]error{method: order.ErrUnreached} })
			_, err := c.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan, Home: "c"}, "")
			if !errors.Is(err, order.ErrUnreached) || Problem(err).Code != api.CodeBusy {
				t.Errorf("%s: %v", method, err)
			}
		}
		if len(l.LiveRuns()) != 0 {
			t.Error("a run was begun")
		}
	})
}

// A run that is recorded just when another box begins to conduct is that one's: nothing of it begins here before this one is started again.
func TestStoppedForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := false
		c, l, x := begun(t, &away)
		l.Append = func(e ledger.Event, record func() error) error {
			err := record()
			if e.Type == delivery.RunStarted {
				c.Stop()
			}
			return err
		}
		if _, err := c.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(x.given) != 0 {
			t.Errorf("it is stopped, and gives %+v", x.given)
		}
		if err := c.Start(t.Context(), x, time.Minute); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(x.given) != 1 {
			t.Errorf("it is started again, and gives %+v", x.given)
		}
	})
}
