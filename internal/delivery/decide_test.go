package delivery_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A plan in layers, each task blocked by all of the layer before, has more paths than
// can be walked: the rules look at each task once.
func TestLayers(t *testing.T) {
	const layers, wide = 50, 4
	started, err := json.Marshal(delivery.Started{
		ID: "R1", Tasks: layers * wide, Settings: delivery.Settings{
			Roles: map[agentsig.Role]delivery.Role{agentsig.RoleDeveloper: {Agent: "a"}}, Limits: delivery.DefaultLimits(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var r delivery.Run
	if err := r.Evolve(1, ledger.Event{Type: delivery.RunStarted, Subject: "run", Payload: started}); err != nil {
		t.Fatal(err)
	}
	for n := range layers * wide {
		added := work.Added{ID: fmt.Sprintf("R1.T-%d", n), Title: "t", Phase: agentsig.PhaseImplementation, Run: "run", Task: fmt.Sprintf("T-%d", n)}
		for before := range wide * min(1, n/wide) {
			added.BlockedBy = append(added.BlockedBy, fmt.Sprintf("T-%d", (n/wide-1)*wide+before))
		}
		payload, err := json.Marshal(added)
		if err != nil {
			t.Fatal(err)
		}
		e := ledger.Event{Type: work.WorkAdded, Subject: fmt.Sprint("item", n), Payload: payload}
		item, err := work.Evolve(work.Item{}, uint64(n)+2, e)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.EvolveItem(item, e); err != nil {
			t.Fatal(err)
		}
	}
	baseline, err := json.Marshal(delivery.Baseline{Commit: "0123abc"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Evolve(1000, ledger.Event{Type: delivery.BaselineChecked, Subject: "run", Payload: baseline}); err != nil {
		t.Fatal(err)
	}
	if w, due := r.Next(delivery.Moment{Now: time.Now()}); !due || w.Item != "item0" {
		t.Errorf("due is %+v, %v", w, due)
	}
	r.WaitsForPerson(delivery.Moment{Now: time.Now()})
	if n := r.Task("T-0").Dependents; n != (layers-1)*wide {
		t.Errorf("%d tasks wait for the first, want %d", n, (layers-1)*wide)
	}
}
