package telemetry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/internal/telemetry"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// the names, as they were promised.
var names = []string{
	"signalbox_agent_turn_duration_seconds{role,agent,outcome}", "signalbox_archive_sync_duration_seconds", "signalbox_build_info{goversion,version}",
	"signalbox_claims_waiting", "signalbox_cost_usd_total{agent}", "signalbox_gate_check_duration_seconds{check,result}",
	"signalbox_ledger_append_duration_seconds", "signalbox_ledger_events_total", "signalbox_merges_total{result}", "signalbox_near_misses_total{reason,agent}",
	"signalbox_provider_paused_seconds_total", "signalbox_question_wait_seconds", "signalbox_questions_open{cause}", "signalbox_runners{state}", "signalbox_runs{state}",
	"signalbox_signals_total{kind,outcome}", "signalbox_tasks{phase}", "signalbox_tasks_waiting{reason}", "signalbox_tokens_total{agent,type}",
}

// watched is a box whose metrics count.
type watched struct {
	*testing.T
	*telemetry.Metrics
	box *box.Box
}

func watch(t *testing.T) *watched {
	t.Helper()
	m := telemetry.New("v1")
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(t.TempDir()), Timing: m.Timing()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return follow(t, m, b)
}

func follow(t *testing.T, m *telemetry.Metrics, b *box.Box) *watched {
	m.Follow(b)
	m.Runners(func() []api.Runner {
		return []api.Runner{{Name: "R1", State: api.RunnerPresent}, {Name: "R2", State: api.RunnerPresent}, {State: api.RunnerLost}, {State: api.RunnerInvited}}
	})
	return &watched{t, m, b}
}

// Of a cluster each box tells how many there are, whether it leads, and how far it is behind; who is invited in its place does not count.
func TestCluster(t *testing.T) {
	how := api.ClusterStatus{Self: "b", Leader: "a", Members: []api.MemberStatus{
		{Name: "a", Role: api.RoleVoter, State: api.MemberLeads}, {Name: "b", Role: api.RoleVoter, Lag: 7}, {Name: "c", Role: api.RoleLearner, Lag: 9}, {Name: "b", Role: api.RoleInvited},
	}}
	w := &watched{T: t, Metrics: telemetry.New("test")}
	w.Cluster(func() api.ClusterStatus { return how })
	w.tells(map[string]string{"signalbox_cluster_members": "3", "signalbox_cluster_leads": "0", "signalbox_cluster_lag_events": "7"})
	how.Leader = "b"
	w.tells(map[string]string{"signalbox_cluster_leads": "1"})
	for series := range (&watched{T: t, Metrics: telemetry.New("test")}).written() {
		if strings.Contains(series, "cluster") {
			t.Errorf("a box alone tells %s", series)
		}
	}
}

// written is what is told now, less histograms' buckets.
func (w *watched) written() map[string]string {
	w.Helper()
	var out bytes.Buffer
	if err := w.Write(&out); err != nil {
		w.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(out.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") && !strings.Contains(name, "_bucket") {
			all[name] = value
		}
	}
	return all
}

// tells holds what is told now against what is wanted of some series: what was recorded is counted by then.
func (w *watched) tells(wants map[string]string) map[string]string {
	w.Helper()
	all := w.written()
	for series, want := range wants {
		if all[series] != want {
			w.Errorf("%s is %q, want %q", series, all[series], want)
		}
	}
	return all
}

// record records events on a run, with an item for its task.
func (w *watched) record(run string, events ...delivery.Event) {
	w.Helper()
	for _, e := range events {
		if err := w.box.Ledger().RecordRun(w.Context(), run, e); err != nil {
			w.Fatal(err)
		}
	}
}

func event(what, session, payload string) delivery.Event {
	return delivery.Event{Type: what, Actor: work.BoxActor, Session: session, Payload: json.RawMessage(payload)}
}

const run = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

// aRun is one with a session of remediation, that asks and is answered.
var aRun = []delivery.Event{
	event(delivery.RunStarted, "", `{"id":"R1","title":"A plan","tasks":0,"settings":{"roles":{},"limits":{"unknown":3},"budget":{}}}`),
	event(delivery.SessionGranted, run+"-1.1", `{"role":"remediation","agent":"cl\"aude\n","round":1}`),
	event(delivery.UnknownRecovery, run+"-1.1", `{"turn":1,"near_misses":[{"line":1,"kind":"remediation_complete","reason":"fenced"}]}`),
	event(delivery.QuestionAsked, "", `{"id":"R1-Q1","cause":"remediation_rounds","text":"?"}`),
	event(delivery.QuestionAsked, "", `{"id":"R1-Q2","cause":"budget","text":"?"}`),
	event(delivery.ProviderPaused, run+"-1.1", `{"provider":"p","until":"2999-01-01T00:00:00Z"}`),
}

// A box tells what there is and what happened, by the names that were promised, and by no others.
func TestMetrics(t *testing.T) {
	w := watch(t)
	w.record(run, aRun...)
	w.Checked(gate.Result{Name: "unit tests", Passed: true, Took: 2 * time.Second})
	all := w.tells(map[string]string{
		`signalbox_signals_total{kind="unknown",outcome="unread"}`:                                             "1",
		`signalbox_questions_open{cause="remediation_rounds"}`:                                                 "1",
		`signalbox_runs{state="finished"}`:                                                                     "0",
		`signalbox_ledger_events_total`:                                                                        "6",
		`signalbox_ledger_append_duration_seconds_count`:                                                       "6",
		`signalbox_near_misses_total{agent="cl\"aude\n",reason="fenced"}`:                                      "1",
		`signalbox_agent_turn_duration_seconds_count{agent="cl\"aude\n",outcome="unknown",role="remediation"}`: "1",
		`signalbox_gate_check_duration_seconds_sum{check="unit`:                                                `tests",result="passed"} 2`,
		`signalbox_claims_waiting`:                                                                             "0",
		`signalbox_tasks{phase="DRAFT"}`:                                                                       "0",
		`signalbox_runners{state="present"}`:                                                                   "2",
		`signalbox_runners{state="lost"}`:                                                                      "1",
		`signalbox_runners{state="draining"}`:                                                                  "0",
		`signalbox_runners{state="invited"}`:                                                                   "",
		`signalbox_build_info{goversion="` + runtime.Version() + `",version="v1"}`:                             "1",
		`signalbox_question_wait_seconds_count`:                                                                "0",
	})
	live := 0
	for series, value := range all {
		if strings.HasPrefix(series, "signalbox_runs{") && value == "1" {
			live++
		}
	}
	if live != 1 {
		t.Errorf("one run goes on, and %d are told: %v", live, all)
	}
	w.record(run, event(delivery.QuestionAnswered, "", `{"id":"R1-Q1","text":"go on"}`),
		event(delivery.SessionEnded, run+"-1.1", `{"how":"done","usage":{"input_tokens":7,"output_tokens":3,"cost_usd":0.5}}`),
		event(delivery.RepairMerged, "", `{"commit":"c"}`))
	w.tells(map[string]string{
		`signalbox_merges_total{result="merged"}`:                  "1",
		`signalbox_question_wait_seconds_count`:                    "1",
		`signalbox_tokens_total{agent="cl\"aude\n",type="input"}`:  "7",
		`signalbox_tokens_total{agent="cl\"aude\n",type="output"}`: "3",
		`signalbox_cost_usd_total{agent="cl\"aude\n"}`:             "0.5",
		`signalbox_questions_open{cause="remediation_rounds"}`:     "",
	})
	if paused := w.written()["signalbox_provider_paused_seconds_total"]; paused < "1" {
		t.Errorf("a provider was paused for %s s", paused)
	}
	if got := w.lint(); !slices.Equal(got, promised()) {
		t.Errorf("the metrics (-want +got):\n%s", cmp.Diff(promised(), got))
	}
}

// Every reason for which a task can wait is told, and none for which it does not.
func TestWaiting(t *testing.T) {
	w := watch(t)
	w.record(run, event(delivery.RunStarted, "", `{"id":"R1","title":"A plan","tasks":2,"settings":{"roles":{"developer":{"agent":"a"}},"limits":{"unknown":3,"agents":2},"budget":{}}}`))
	added := func(task string, after ...string) {
		add := work.Add{ID: "R1." + task, Title: "x", Phase: agentsig.PhaseDraft, Actor: work.OperatorActor, Run: run, Task: task, BlockedBy: after}
		if err := w.box.Ledger().AddItem(add); err != nil {
			t.Fatal(err)
		}
	}
	added("T-1")
	added("T-2", "T-1")
	all := w.tells(map[string]string{`signalbox_tasks_waiting{reason="blocker"}`: "1", `signalbox_tasks_waiting{reason="merge"}`: "0"})
	for _, reason := range delivery.Waits() {
		_, told := all[`signalbox_tasks_waiting{reason="`+string(reason)+`"}`]
		if over := slices.Contains([]delivery.Wait{delivery.WaitCompleted, delivery.WaitCancelled, delivery.WaitSession}, reason); told == over {
			t.Errorf("%s is told: %v", reason, told)
		}
	}
}

// promised are the names and labels that were promised.
func promised() (all []string) {
	for _, n := range names {
		name, of, _ := strings.Cut(strings.TrimSuffix(n, "}"), "{")
		all = append(all, sorted(name, strings.FieldsFunc(of, func(c rune) bool { return c == ',' })))
	}
	slices.Sort(all)
	return all
}

func sorted(name string, labels []string) string {
	slices.Sort(labels)
	return fmt.Sprint(name, labels)
}

// lint holds what is told against Prometheus's own rules, and its names against those that were promised; no label is an id. It
// returns the names, with their labels.
func (w *watched) lint() []string {
	w.Helper()
	var out bytes.Buffer
	if err := w.Write(&out); err != nil {
		w.Fatal(err)
	}
	problems, err := promlint.New(bytes.NewReader(out.Bytes())).Lint()
	if err != nil || len(problems) > 0 {
		w.Errorf("%v %v", problems, err)
	}
	if id := regexp.MustCompile(`R1\b|T-1|` + run).FindString(out.String()); id != "" {
		w.Errorf("an id is told: %s", id)
	}
	labels := map[string][]string{}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "# HELP ") {
			labels[strings.Fields(line)[2]] = nil
		}
		m := regexp.MustCompile(`^(\w+?)(?:_bucket|_sum|_count)?\{(.*)\} `).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, l := range regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`).FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" && !slices.Contains(labels[m[1]], l[1]) {
				labels[m[1]] = append(labels[m[1]], l[1])
			}
		}
	}
	var got []string
	for name, of := range labels {
		got = append(got, sorted(name, of))
		if last := got[len(got)-1]; !slices.Contains(promised(), last) {
			w.Errorf("nobody has promised %s", last)
		}
	}
	slices.Sort(got)
	return got
}

// Whatever agents and checks are called, and a ledger of another version says, there are only so many series.
func TestBounded(t *testing.T) {
	w := watch(t)
	w.record(run, aRun[0])
	w.Checked(gate.Result{Name: strings.Repeat("x", 1000)})
	w.Checked(gate.Result{Name: "\xff"})
	if got := w.written()[`signalbox_gate_check_duration_seconds_count{check="other",result="failed"}`]; got != "2" {
		t.Errorf("%s checks have names that are none", got)
	}
	for i := range 200 {
		w.Checked(gate.Result{Name: fmt.Sprint("check ", i)})
		session := fmt.Sprintf("%s-1.%d", run, i+1)
		w.record(run, event(delivery.SessionGranted, session, fmt.Sprintf(`{"role":"role%d","agent":"agent%d","round":1}`, i, i)),
			event(delivery.UnknownRecovery, session, fmt.Sprintf(`{"turn":1,"near_misses":[{"reason":"reason%d"}]}`, i)),
			event(delivery.SignalRefused, session, fmt.Sprintf(`{"kind":"kind%d"}`, i)),
			event(delivery.SessionEnded, session, fmt.Sprintf(`{"how":"how%d","usage":{"input_tokens":1,"cost_usd":1}}`, i)))
	}
	all := w.tells(map[string]string{
		`signalbox_cost_usd_total{agent="other"}`:                 "150",
		`signalbox_signals_total{kind="other",outcome="refused"}`: "200",
	})
	if n := len(all); n > 500 {
		t.Errorf("%d series", n)
	}
	w.lint()
}

// A box that is started again counts from 0, knows who was at work, and reads nothing twice.
func TestRestart(t *testing.T) {
	dir := box.Dir(t.TempDir())
	open := func(m *telemetry.Metrics) *watched {
		b, _, err := box.Open(t.Context(), box.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return follow(t, m, b)
	}
	first := open(telemetry.New("v1"))
	first.record(run, aRun...)
	first.record(run, event(delivery.UsageReported, run+"-1.1", `{"report":1,"usage":{"input_tokens":5}}`))
	first.tells(map[string]string{`signalbox_tokens_total{agent="cl\"aude\n",type="input"}`: "5"})
	if err := first.box.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(telemetry.New("v1"))
	second.record(run, event(delivery.QuestionAnswered, "", `{"id":"R1-Q1","text":"go on"}`),
		event(delivery.SessionEnded, run+"-1.1", `{"how":"done","usage":{"input_tokens":7}}`))
	second.tells(map[string]string{
		`signalbox_tokens_total{agent="cl\"aude\n",type="input"}`:  "2",
		`signalbox_cost_usd_total{agent="cl\"aude\n"}`:             "",
		`signalbox_ledger_events_total`:                            "9",
		`signalbox_signals_total{kind="unknown",outcome="unread"}`: "",
		`signalbox_question_wait_seconds_count`:                    "1",
	})
	if err := second.box.Close(); err != nil {
		t.Fatal(err)
	}
}

// Work by hand is counted where no agent has to be known.
func TestByHand(t *testing.T) {
	w := watch(t)
	if _, err := w.box.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "x", Phase: agentsig.PhaseImplementation}, ""); err != nil {
		t.Fatal(err)
	}
	w.tells(map[string]string{`signalbox_tasks{phase="IMPLEMENTATION"}`: "1"})
	w.lint()
}
