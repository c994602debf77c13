package runview_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/runview"
	"github.com/signalbox-dev/signalbox/ledger"
)

// hostile has what a browser, a terminal or a template would act upon.
const hostile = "</style></pre><script>alert(1)</script><img src=x onerror=alert(1)>\"' onmouseover=alert(1) x=\"{{.}}\x1b[31m\u202etxt\u2066\u200b javascript:alert(1)"

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// played is a box with a run of two tasks in which everybody says the same.
func played(t *testing.T, says string, tasks int) *api.Client {
	t.Helper()
	said, _ := json.Marshal(says)
	run := api.Run{
		ID: "R1", Subject: "RUN", Title: says, State: api.RunFinished, Outcome: delivery.Completed, Branch: says, StartedAt: start, FinishedAt: start.Add(time.Hour),
		Unprotected: []string{says}, Unaudited: says, Unchecked: says, Distrust: says, PullRequest: says,
	}
	var lines []string
	for i := range tasks {
		id := fmt.Sprintf("T-%d", i+1)
		run.Tasks = append(run.Tasks, api.Task{ID: id, Work: "R1." + id, Title: says, Phase: agentsig.PhaseCompleted, BlockedBy: []string{fmt.Sprintf("T-%d", i)}})
		item := fmt.Sprintf("01M7QQTR3K58TSMYEMQ4BC%04d", i)
		session := item + "-1.1"
		lines = append(lines,
			fmt.Sprintf(`%s WorkAdded operator - {"id":"R1.%s","title":%s,"phase":"IMPLEMENTATION","run":"RUN","task":"%s"}`, item, id, said, id),
			fmt.Sprintf(`%s LeaseGranted box %s {"phase":"IMPLEMENTATION","role":"developer","agent":%s,"ttl_ms":1000}`, item, session, said),
			fmt.Sprintf(`RUN QuestionAsked box %s {"id":"R1-Q%d","task":"%s","cause":"clarification","text":%s,"turn":1}`, session, i, id, said),
			fmt.Sprintf(`RUN QuestionAnswered client:ann - {"id":"R1-Q%d","text":%s}`, i, said),
			fmt.Sprintf(`RUN SessionEnded box %s {"how":"crashed","detail":%s,"task":"%s","usage":{"input_tokens":10,"cost_usd":0.5}}`, session, said, id),
		)
	}
	var events []api.Event
	seqs := map[string]uint64{}
	for i, line := range lines {
		f := strings.SplitN(line, " ", 5)
		seqs[f[0]]++
		e := ledger.Event{
			Format: ledger.Format, Epoch: 1, Subject: f[0], ItemSeq: seqs[f[0]], Type: f[1], Actor: f[2], Session: strings.Trim(f[3], "-"),
			Time: start.Add(time.Duration(i) * time.Second), Payload: json.RawMessage(f[4]),
		}
		if e.Type == "LeaseGranted" {
			e.Lease = "1.1"
		}
		if e.ItemSeq > 1 {
			e.Prev = ledger.Hash{1}
		}
		stored, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, api.Event{Sequence: uint64(i + 1), Work: f[0], Event: stored})
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply := func(v any) { _ = json.NewEncoder(w).Encode(v) }
		switch path := r.URL.Path; {
		case path == "/v1/runs/R1":
			reply(run)
		case path == "/v1/events" && r.URL.Query().Get("tasks") == "true":
			after, _ := strconv.Atoi(r.URL.Query().Get("after"))
			limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
			for i := after; i < len(events); i++ {
				if i == after+limit {
					_, _ = fmt.Fprintf(w, "event: next\ndata: {\"next\":%d}\n\n", i)
					return
				}
				data, _ := json.Marshal(events[i])
				_, _ = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", i+1, data)
			}
		case strings.HasPrefix(path, "/v1/work/R1.T-"):
			n, _ := strconv.Atoi(strings.TrimPrefix(path, "/v1/work/R1.T-"))
			reply(api.Work{ID: fmt.Sprintf("R1.T-%d", n), Subject: fmt.Sprintf("01M7QQTR3K58TSMYEMQ4BC%04d", n-1), Title: says, Handoff: api.Handoff{Asked: says}})
		default:
			w.WriteHeader(http.StatusNotFound)
			reply(api.Problem{Code: api.CodeNotFound, Message: "there is no " + path})
		}
	}))
	t.Cleanup(s.Close)
	c := api.NewClient(strings.TrimPrefix(s.URL, "http://"), "token")
	t.Cleanup(c.Close)
	return c
}

// story asks for the run's story, in which a proof says what it should not.
func story(t *testing.T, says string, tasks int) runview.Story {
	t.Helper()
	s, err := runview.Ask(t.Context(), played(t, says, tasks), "R1")
	if err != nil {
		t.Fatal(err)
	}
	s.Proof = evidence.Proof{Checkpoint: says, Origin: says, Size: 3, Events: []evidence.Proven{{Sequence: 1, Holds: true}, {Sequence: 2, Pending: true}}}
	s.Key = says
	return s
}

func report(t *testing.T, s runview.Story) string {
	t.Helper()
	var b bytes.Buffer
	if err := runview.HTML(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A report has all of a run, and is the same each time.
func TestReport(t *testing.T) {
	s := story(t, "words", 3)
	text := report(t, s)
	for _, want := range []string{
		"R1: words", "1 h 0 min", `<a href="#task-2">`, `id="task-2"`, `class="node good"`, "developer: words", "0.50 USD", "answered R1-Q1: words", "client:ann", "crashed",
		"What was asked for", "1 of 2 events of this run and its tasks are not signed yet", "signalbox ledger check", `http-equiv="Content-Security-Policy"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if len(s.Events) != 15 || len(s.Cards) != 3 || len(s.Cards[1].Questions) != 1 || len(s.Cards[1].Attempts) != 1 || s.Cards[1].Questions[0].By != "client:ann" {
		t.Errorf("%d events, %+v", len(s.Events), s.Cards)
	}
	for range 5 {
		if report(t, story(t, "words", 3)) != text {
			t.Fatal("the same run gives another report")
		}
	}
	s.Proof.Events[0].Holds = false
	if text := report(t, s); !strings.Contains(text, "1 event can't be proven") || strings.Contains(text, "note good") {
		t.Errorf("what is not proven is not said:\n%s", text[len(text)-3000:])
	}
}

// Each card of many tasks is the one that the task's own page has.
func TestCards(t *testing.T) {
	c := played(t, "words", 300)
	s, err := runview.Ask(t.Context(), c, "R1")
	if err != nil || len(s.Events) != 1500 {
		t.Fatalf("%d events, %v", len(s.Events), err)
	}
	for i, card := range s.Cards {
		if len(card.Rests) == 0 || len(card.Questions) != 1 || card.Questions[0].ID != fmt.Sprintf("R1-Q%d", i) || card.Usage.InputTokens != 10 {
			t.Fatalf("task %d: %+v", i+1, card)
		}
	}
}

// Whatever is said in a run is text in its report, which loads nothing and leads nowhere.
func TestHostileReport(t *testing.T) {
	text := report(t, story(t, hostile, 2))
	if !strings.Contains(text, "alert(1)") || strings.ContainsAny(text, "\x1b\u202e\u2066\u200b") {
		t.Error("what was said is not there, or as it was said")
	}
	quoted := regexp.MustCompile(`"[^"]*"`)
	for _, tag := range regexp.MustCompile(`<[a-zA-Z/!][^>]*>`).FindAllString(text, -1) {
		name := strings.ToLower(strings.Trim(strings.Fields(tag)[0], "</>"))
		switch name {
		case "script", "img", "link", "iframe", "object", "form", "base":
			t.Errorf("the report has %s", tag)
		}
		if bare := quoted.ReplaceAllString(tag, `""`); regexp.MustCompile(`(?i)\s(on[a-z]+|style)\s*=`).MatchString(bare) {
			t.Errorf("the report has %s", tag)
		}
	}
	for _, link := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		to := html.UnescapeString(link[1])
		if !strings.HasPrefix(to, "#") || !strings.Contains(text, fmt.Sprintf(`id="%s"`, to[1:])) {
			t.Errorf("the report links to %q", to)
		}
	}
	if n := strings.Count(text, "</style>"); n != 1 {
		t.Errorf("the style ends %d times", n)
	}
}

// A browser opens the report from a disk, with its style and no complaint, and nothing is as wide that the page has to be moved.
func TestBrowserOpensReport(t *testing.T) {
	if testing.Short() {
		t.Skip("starting a browser takes long")
	}
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium on the path")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	text := report(t, story(t, hostile, 30))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "report-browser-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(profile) }() // not the test's own: a child of the browser may write for a moment longer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="+profile, "--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom", "file://"+filepath.ToSlash(file))
	cmd.WaitDelay = time.Minute
	var said bytes.Buffer
	cmd.Stderr = &said
	document, err := cmd.Output()
	if err != nil {
		t.Fatalf("the browser failed: %v\n%s", err, said.String())
	}
	for _, tag := range []string{"<section", "<tr", "<svg", "<path", "<rect", "</html>"} {
		if got, want := strings.Count(string(document), tag), strings.Count(text, tag); got != want {
			t.Errorf("the document has %d of %s, the report %d", got, tag, want)
		}
	}
	if strings.Contains(said.String(), "CONSOLE") {
		t.Errorf("the browser says\n%s", said.String())
	}
}
