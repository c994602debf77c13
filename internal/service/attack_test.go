package service

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// byKeys are attacks by who has no key, or another one.
func (w *besieged) byKeys() []attack {
	of := func(who string) *tls.Certificate {
		c, err := pin.Client(w.keys[who], "").GetClientCertificate(nil)
		if err != nil {
			w.t.Fatal(err)
		}
		return c
	}
	leaf := func(who string) []byte { return of(who).Certificate[0] }
	_, other, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	shows := func(c tls.Certificate, version uint16) func() (int, string, error) {
		return func() (int, string, error) {
			carrier := enrolment.NewCarrier([]string{w.at}, &tls.Config{
				InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, MaxVersion: version, NextProtos: []string{pin.ALPN, "http/1.1"}, Certificates: []tls.Certificate{c},
			})
			w.lines["shows"] = carrier
			defer carrier.CloseIdleConnections()
			return w.ask("shows", "GET", "/v1/runner/orders", nil)
		}
	}
	orders := func(who string) func() (int, string, error) {
		return func() (int, string, error) { return w.ask(who, "GET", "/v1/runner/orders", nil) }
	}
	return []attack{
		{"no key", orders("nobody"), "401", refused},
		{"a key that has not joined", orders("stranger"), noRunner, noShake},
		{"a key that has not joined, as one that joins", orders("guest"), "401", refused},
		{"a runner's key that was removed, on the connection that it has", orders("gone"), "401", refused},
		{"a runner's key that was removed, on another connection", orders("gone, again"), noRunner, noShake},
		{"a runner's certificate, without its key", shows(tls.Certificate{Certificate: [][]byte{leaf("gpu1")}, PrivateKey: other}, tls.VersionTLS13), "tls: ", noShake},
		{"a runner's certificate behind one's own", shows(tls.Certificate{Certificate: [][]byte{leaf("stranger"), leaf("gpu1")}, PrivateKey: of("stranger").PrivateKey}, tls.VersionTLS13), noRunner, noShake},
		{"no certificate where a runner shows one", shows(tls.Certificate{}, tls.VersionTLS13), "tls: ", noShake},
		{"an older TLS", shows(*of("gpu1"), tls.VersionTLS12), "tls: ", noShake},
		{"no TLS", func() (int, string, error) {
			r, err := http.NewRequestWithContext(w.t.Context(), "GET", "http://"+w.at+"/v1/runner/orders", nil)
			if err != nil {
				return 0, "", err
			}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
			if err != nil {
				return 0, "", err
			}
			return resp.StatusCode, "", resp.Body.Close()
		}, "400", noShake},
	}
}

// byInvitation are attacks on how runners get in.
func (w *besieged) byInvitation() []attack {
	join := func(who, secret string) func() (int, string, error) {
		return func() (int, string, error) {
			return w.ask(who, "POST", "/v1/runner/join", map[string]string{"secret": secret})
		}
	}
	fresh, brief := w.invite("fresh", 0), w.invite("brief", time.Second)
	for _, r := range w.s.Box.RunnerIdentities() {
		if r.Name == "brief" {
			time.Sleep(time.Until(r.Expires) + 10*time.Millisecond)
		}
	}
	return []attack{
		{"a secret that was made up", join("guest", access.InvitationSecret([32]byte{7})), "403", refused},
		{"an invitation that was redeemed, with another key", join("guest", w.spent["gpu1"]), "403 redeemed already", refused},
		{"an invitation that has expired", join("guest", brief), "403 expired", refused},
		{"the invitation of a runner that was removed", join("guest", w.spent["gone"]), "403", refused},
		{"another runner's invitation that was redeemed, by a runner", join("gpu2", w.spent["gpu1"]), "403 redeemed already", refused},
		{"a second name for one's key", join("gpu2", fresh), "409", refused},
		{"an invitation without a key", join("nobody", fresh), "401", refused},
		{"the owner's token for a key", func() (int, string, error) {
			return w.ask("nobody", "POST", "/v1/runner/join", map[string]string{"secret": fresh}, bearing(w.tokens["owner"])...)
		}, "403", refused},
		{"what is no request", func() (int, string, error) { return w.ask("guest", "POST", "/v1/runner/join", "{") }, "400", refused},
		{"a long request", join("guest", strings.Repeat("x", 64<<10)), "413", refused},
	}
}

// byToken are attacks with the tokens of others, over others' connections.
func (w *besieged) byToken() []attack {
	session1, token1 := w.orders["gpu1"].Session.ID, w.orders["gpu1"].Token
	session2 := w.orders["gpu2"].Session.ID
	report := func(who, session string, headers ...string) func() (int, string, error) {
		return func() (int, string, error) {
			return w.ask(who, "POST", "/v1/sessions/"+url.PathEscape(session)+"/report", api.SessionReport{Kind: api.ReportEnded, Seq: 1, How: "done"}, headers...)
		}
	}
	get := func(who, path string, headers ...string) func() (int, string, error) {
		return func() (int, string, error) { return w.ask(who, "GET", path, nil, headers...) }
	}
	forged := token1[:len(token1)-1] + "0"
	if forged == token1 {
		forged = token1[:len(token1)-1] + "1"
	}
	return []attack{
		{"a session's token over another runner's connection", report("gpu2", session1, bearing(token1)...), "403", refused},
		{"a session's token over no runner's connection", report("nobody", session1, bearing(token1)...), "403", refused},
		{"a session's token over a guest's connection", report("guest", session1, bearing(token1)...), "401", refused},
		{"a session's token on the box's own machine", report("this machine", session1, bearing(token1)...), "403", refused},
		{"a session's token for another session", report("gpu1", session2, bearing(token1)...), "403", refused},
		{"a session's token that was made up", report("gpu1", session1, bearing(forged)...), "401", refused},
		{"no session's token", report("gpu2", session1), "403", refused},
		{"a session's token for what the owner may", get("gpu1", "/v1/status", bearing(token1)...), "403", refused},
		{"a session's commands for another runner", get("gpu2", "/v1/sessions/"+session1+"/commands", bearing(token1)...), "403", refused},
		{"a session that speaks for a client", report("gpu1", session1, bearing(token1, api.ClientHeader, "client", api.ScopesHeader, "operate")...), "403", refused},
		{"two tokens", report("gpu1", session1, append(bearing(token1), bearing(w.tokens["owner"])...)...), "401", refused},
		{"the owner's token over a runner's connection", get("third", "/v1/status", bearing(w.tokens["owner"])...), "403", refused},
		{"the owner's token for a session, over a runner's connection", report("third", session1, bearing(w.tokens["owner"])...), "403", refused},
		{"a client's token over a runner's connection", report("third", session1, bearing(w.tokens["client"])...), "403", refused},
		{"the gate's token over a runner's connection", func() (int, string, error) {
			return w.ask("third", "POST", "/v1/work/T-1/gate", map[string]any{"commit": "0123abc", "passed": true}, bearing(w.tokens["gate"])...)
		}, "403", refused},
		{"the owner's token over a guest's connection", get("guest", "/v1/status", bearing(w.tokens["owner"])...), "401", refused},
		{"a runner reads the ledger", get("third", "/v1/events"), "403", refused},
		{"a runner invites another one", func() (int, string, error) {
			return w.ask("third", "POST", "/v1/runners", api.NewRunner{Name: "mine"})
		}, "403", refused},
		{"a runner removes another one", func() (int, string, error) { return w.ask("third", "POST", "/v1/runners/gpu1/remove", nil) }, "403", refused},
		{"a runner drains another one", func() (int, string, error) {
			return w.ask("third", "POST", "/v1/runners/gpu1/drain", api.DrainRunner{})
		}, "403", refused},
		{"a runner merges", func() (int, string, error) {
			return w.ask("third", "POST", "/v1/work/T-1/override", map[string]string{"phase": "COMPLETED", "reason": "so"})
		}, "403", refused},
		{"a runner makes itself a token", func() (int, string, error) {
			return w.ask("third", "POST", "/v1/tokens", api.NewToken{Name: "mine", Scopes: []access.Scope{access.Operate}})
		}, "403", refused},
	}
}

// orderChecks has gpu1 be to run checks, as if what its session has done were handed in.
func (w *besieged) orderChecks(ctx context.Context) {
	w.t.Helper()
	w.gate = w.orders["gpu1"].Order
	w.gate.ID, w.gate.Do, w.gate.Task, w.gate.Session = "gate/T-1/5", delivery.DoGate, w.gate.Run.Task(w.gate.Session.Task), nil
	go func() { _ = w.s.fleet.Load().CarryOut(ctx, w.gate) }() // until the test ends
	for limit := time.After(2 * time.Minute); ; {
		if _, _, err := w.s.fleet.Load().Fetches("gpu1", w.gate.Name()); err == nil {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-limit:
			w.t.Fatal("gpu1 is given no checks")
		}
	}
}

// bySigning are what gpu1 says of checks that it has, without having signed that.
func (w *besieged) bySigning() (all []attack) {
	ran := delivery.GateRan{Command: w.gate.ID, Commit: strings.Repeat("ab", 20), Passed: true, Checks: []work.Check{{Name: "any", Passed: true}}}
	row := func(name, by, runner string, change func(*delivery.GateRan)) {
		said, t := ran, *w.gate.Task
		change(&said)
		in := ran
		in.Signed = &work.Signed{Order: ran.Command}
		in.Signed.Key, in.Signed.Signature = w.keys[by].Sign(said.Statement(runner, w.gate.Run.ID, &t).Text())
		if by == "" {
			in.Signed = nil
		}
		h, err := order.WriteInput(w.gate.Run.Subject, in)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, attack{name, func() (int, string, error) { return w.ask("gpu1", "POST", "/v1/runner/hand-in", h) }, "400 not signed by the key", refused})
	}
	same := func(*delivery.GateRan) {}
	w.keys[""] = w.keys["gpu1"]
	defer delete(w.keys, "")
	row("without a signature", "", "gpu1", same)
	row("by another runner's key", "gpu2", "gpu1", same)
	row("in another runner's name", "gpu1", "gpu2", same)
	row("by a stranger's key", "stranger", "gpu1", same)
	row("on another commit", "gpu1", "gpu1", func(g *delivery.GateRan) { g.Commit = strings.Repeat("cd", 20) })
	row("of another order", "gpu1", "gpu1", func(g *delivery.GateRan) { g.Command = "gate/T-1/2" })
	row("that have failed", "gpu1", "gpu1", func(g *delivery.GateRan) { g.Passed = false })
	return all
}

// byRunner are what a runner says of what it has not.
func (w *besieged) byRunner() []attack {
	o := w.orders["gpu1"]
	session, run := o.Session.ID, o.Run.Subject
	subject, token, err := work.ParseSession(session)
	if err != nil {
		w.t.Fatal(err)
	}
	token.Counter++
	later := token.Session(subject)
	post := func(who, what string, body any) func() (int, string, error) {
		return func() (int, string, error) { return w.ask(who, "POST", "/v1/runner/"+what, body) }
	}
	hands := func(who, run string, in delivery.Input) func() (int, string, error) {
		h, err := order.WriteInput(run, in)
		if err != nil {
			w.t.Fatal(err)
		}
		return post(who, "hand-in", h)
	}
	commit := strings.Repeat("ab", 20)
	var all []attack
	for _, in := range []delivery.Input{
		delivery.End{Session: session, Ended: delivery.Ended{How: delivery.Done}}, delivery.Prompted{Session: session, Prompt: "x"},
		delivery.Shown{Session: session, Commit: commit}, delivery.Forgotten{Session: session}, delivery.Distrust{Session: session, Reason: "so"},
		delivery.Pushed{Session: session, Commit: commit}, delivery.GateRan{Command: o.ID, Commit: commit, Passed: true},
	} {
		all = append(all, attack{fmt.Sprintf("another runner's %T", in), hands("gpu2", run, in), "403", refused})
	}
	for name, s := range map[string]order.Said{
		"another runner's session's words":         {Of: session, Name: order.SaidTranscript, Data: []byte("x")},
		"what checks printed that it has not":      {Of: order.ChecksName(o.Run.Task(o.Session.Task).Item), Name: order.SaidChecks, Data: []byte("x")},
		"the words of a session beside the others": {Of: "../" + session, Name: order.SaidTranscript, Data: []byte("x")},
	} {
		all = append(all, attack{name, post("gpu2", "said", s), "403", refused})
	}
	for name, s := range map[string]order.Said{
		"its session's words in another file":        {Of: session, Name: "../../api.token", Data: []byte("x")},
		"its session's words behind a hole":          {Of: session, Name: order.SaidTranscript, At: 1 << 60, Data: []byte("x")},
		"its session's words before their beginning": {Of: session, Name: order.SaidTranscript, At: -1, Data: []byte("x")},
	} {
		all = append(all, attack{name, post("gpu1", "said", s), "4", refused})
	}
	here := func(h order.Here) func() (int, string, error) { return post("fourth", "here", h) }
	return append(all,
		attack{"a branch of the user's for what its session has done", hands("gpu1", run, delivery.Pushed{Session: session, Commit: "refs/heads/trunk"}), "400", refused},
		attack{"an option of git's for what its session has done", hands("gpu1", run, delivery.Pushed{Session: session, Commit: "--stdin"}), "400", refused},
		attack{"nothing for what its session has done", hands("gpu1", run, delivery.Pushed{Session: session}), "400", refused},
		attack{"its own session's end, in another run", hands("gpu1", "R", delivery.End{Session: session}), "403", refused},
		attack{"the end of a session that is not yet there", hands("gpu1", run, delivery.End{Session: later}), "403", refused},
		attack{"a gate's result that nobody asked for", hands("gpu1", run, delivery.GateRan{Command: "gate/T-1/1", Commit: commit, Passed: true}), "403", refused},
		attack{"a merge", post("gpu1", "hand-in", order.HandedIn{Run: run, Kind: "merge", Input: json.RawMessage("{}")}), "400", refused},
		attack{"first checks", post("gpu1", "hand-in", order.HandedIn{Run: run, Kind: "baseline", Input: json.RawMessage("{}")}), "400", refused},
		attack{"a person's answer", post("gpu1", "hand-in", order.HandedIn{Run: run, Kind: "answer", Input: json.RawMessage("{}")}), "400", refused},
		attack{"a result that can't be read", post("gpu1", "hand-in", order.HandedIn{Run: run, Kind: "end", Input: json.RawMessage("[]")}), "400", refused},
		attack{"a result without an end", post("fourth", "hand-in", strings.Repeat(" ", 5<<20)), "413", refused},
		attack{"another runner's order is done", post("gpu2", "done", order.Done{Name: o.Name}), "403", refused},
		attack{"an answer that nobody asked for", post("gpu2", "answer", order.Answer{ID: 1 << 40, Text: "so"}), "403", refused},
		attack{"an answer to nothing", post("gpu2", "answer", order.Answer{Text: "so"}), "403", refused},
		attack{"a word to another runner's session", post("gpu2", "mail", order.Mail{Session: session, Command: api.SessionCommand{ID: "x", Kind: api.CommandStop}}), "403", refused},
		attack{"a word to nobody's session", post("gpu2", "mail", order.Mail{Session: later, Command: api.SessionCommand{ID: "x", Kind: api.CommandStop}}), "403", refused},
		attack{"another runner's session's ref", post("gpu2", "ref", order.Push{Session: session, Number: 1}), "403", refused},
		attack{"the ref of a session that is not yet there", post("gpu2", "ref", order.Push{Session: later, Number: 1}), "403", refused},
		attack{"a ref below the first", post("gpu1", "ref", order.Push{Session: session, Number: -1}), "400", refused},
		attack{"a ref of no session", post("gpu1", "ref", order.Push{Session: "../../heads/trunk", Number: 1}), "403", refused},
		attack{"no protocol", here(order.Here{}), "400", refused},
		attack{"a protocol of later", here(order.Here{Protocol: 9}), "400 update the box", refused},
		attack{"orders in a protocol of later", func() (int, string, error) {
			return w.ask("fourth", "GET", "/v1/runner/orders?protocol=9", nil)
		}, "400 update the box", refused},
		attack{"orders in no protocol", func() (int, string, error) { return w.ask("fourth", "GET", "/v1/runner/orders", nil) }, "400", refused},
		attack{"places without end", here(order.Here{Protocol: 1, Places: math.MaxInt}), "400", refused},
		attack{"sessions without end", here(order.Here{Protocol: 1, Alive: make([]string, 1<<13)}), "400", refused},
		attack{"agents without end", here(order.Here{Protocol: 1, Agents: make([]order.Agent, 1<<9)}), "400", refused},
		attack{"a name without end", here(order.Here{Protocol: 1, Version: strings.Repeat("x", 1<<16)}), "400", refused},
		attack{"a sign of life without end", post("fourth", "here", strings.Repeat(" ", 2<<20)), "413", refused},
		attack{"what is no sign of life", post("fourth", "here", "[]"), "400", refused},
		attack{"headers without end", func() (int, string, error) {
			return w.ask("fourth", "POST", "/v1/runner/here", "{}", "X", strings.Repeat("x", 2<<20))
		}, "431", ""},
		attack{"two lengths", func() (int, string, error) {
			answer, err := w.raw("fourth", "POST /v1/runner/here HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 20\r\n\r\n{}")
			return 0, answer, err
		}, "0 HTTP/1.1 400", ""},
		attack{"a request within a request", func() (int, string, error) {
			answer, err := w.raw("fourth", "POST /v1/runner/done HTTP/1.1\r\nHost: x\r\nContent-Length: 66\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+
				"GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+w.tokens["owner"]+"\r\n\r\n")
			return strings.Count(answer, "HTTP/1.1 200"), answer, err
		}, "0 HTTP/1.1 400", refused},
	)
}

// line is a line as git sends it, and command what a push begins with.
func line(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

func command(old, commit, ref, words string) string {
	return line(old+" "+commit+" "+ref+"\x00 report-status side-band-64k object-format=sha1"+words) + "0000"
}

// packed is a pack of objects of a repository, made by git.
func packed(t *testing.T, repo string, names ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "pack-objects", "--stdout", "--quiet")
	cmd.Dir, cmd.Stdin = repo, strings.NewReader(strings.Join(names, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// byGit are attacks on the repository.
func (w *besieged) byGit() []attack {
	o, other := w.orders["gpu1"], w.orders["gpu2"]
	session := o.Session.ID
	ref := order.TaskRef(o.Run.ID, o.Session.Task, session, 1)
	repo := gittest.New(w.t)
	blob := gittest.GitIn(w.t, repo, "[submodule \"x\"]\n\tpath = x\n\turl = -u./sh\n", "hash-object", "-w", "--stdin")
	named := func(mode, name string) (commit, pack string) { // a commit with one file of a name
		id, err := hex.DecodeString(blob)
		if err != nil {
			w.t.Fatal(err)
		}
		tree := gittest.GitIn(w.t, repo, mode+" "+name+"\x00"+string(id), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
		commit = gittest.Git(w.t, repo, "commit-tree", "-m", "x", tree)
		return commit, packed(w.t, repo, blob, tree, commit)
	}
	good, goodPack := named("100644", "f")
	zero := strings.Repeat("0", 40)
	pushes := func(who, session, number, body string) func() (int, string, error) {
		return func() (int, string, error) {
			return w.ask(who, "POST", "/v1/runner/git/push/"+session+"/"+number+"/git-receive-pack", body, "Content-Type", "application/x-git-receive-pack-request")
		}
	}
	own := func(body string) func() (int, string, error) { return pushes("gpu1", session, "1", body) }
	hostile := func(mode, name string) func() (int, string, error) {
		commit, pack := named(mode, name)
		return own(command(zero, commit, ref, "") + pack)
	}
	fetches := func(who, path, body string) func() (int, string, error) {
		return func() (int, string, error) {
			return w.ask(who, "POST", "/v1/runner/git/"+path+"/git-upload-pack", body, "Content-Type", "application/x-git-upload-pack-request")
		}
	}
	want := func(name string) string { return line("want "+name+" side-band-64k\n") + "0000" + line("done\n") }
	get := func(who, path string) func() (int, string, error) {
		return func() (int, string, error) { return w.ask(who, "GET", "/v1/runner/git/"+path, nil) }
	}
	hidden := gittest.Git(w.t, filepath.Join(w.s.dir, ".."), "commit-tree", "-m", "hidden", "HEAD^{tree}")
	w.tokens["control"] = command(zero, good, ref, "") + goodPack
	return []attack{
		{"a push for another runner's session", pushes("gpu2", session, "1", command(zero, good, ref, "")+goodPack), "403", refused},
		{"a push for nobody's session", pushes("gpu1", o.Run.Subject+"-9.9", "1", command(zero, good, ref, "")+goodPack), "403", refused},
		{"a push of another session's ref", own(command(zero, good, order.TaskRef(other.Run.ID, other.Session.Task, other.Session.ID, 1), "") + goodPack), "200 may not be pushed", notGit},
		{"a push of another number", own(command(zero, good, order.TaskRef(o.Run.ID, o.Session.Task, session, 2), "") + goodPack), "200 may not be pushed", notGit},
		{"a push of the run's branch", own(command(zero, good, "refs/heads/"+o.Run.Branch, "") + goodPack), "200 may not be pushed", notGit},
		{"a push that moves a branch", own(command(o.Run.Base, good, "refs/heads/"+o.Run.Branch, "") + goodPack), "200 never moved", notGit},
		{"a push that deletes", own(command(o.Run.Base, zero, "refs/heads/"+o.Run.Branch, "")), "200 deleted", notGit},
		{"a push of two refs", own(line(zero+" "+good+" "+ref+"\x00 report-status") + line(zero+" "+good+" refs/heads/x") + "0000" + goodPack), "200 one ref", notGit},
		{"push options", own(command(zero, good, ref, " push-options") + line("ci.skip") + "0000" + goodPack), "200 push-options is not done", notGit},
		{"a number that is none", pushes("gpu1", session, "0", command(zero, good, ref, "")+goodPack), "400", refused},
		{"a file called .git", hostile("100644", ".git"), "200 hasDotgit", badPack},
		{"a file called ..", hostile("100644", ".."), "200 hasDotdot", badPack},
		{"a link for .gitmodules", hostile("120000", ".gitmodules"), "200 gitmodulesSymlink", badPack},
		{"a module that runs a command", hostile("100644", ".gitmodules"), "200 gitmodulesUrl", badPack},
		{"a pack that is none", own(command(zero, good, ref, "") + "PACK"), "200 unpack", badPack},
		{"a fetch for another runner's order", fetches("gpu2", "fetch/"+o.Name, want(o.Run.Base)), "403", refused},
		{"a fetch for an order that there is not", fetches("gpu2", "fetch/"+o.Run.Subject+"-0000000000000000", want(o.Run.Base)), "403", refused},
		{"a fetch by another session's push", fetches("gpu2", "push/"+session+"/1", want(o.Run.Base)), "403", refused},
		{"a fetch of a commit that is not shown", fetches("gpu1", "fetch/"+o.Name, want(hidden)), "200 not our ref", notGit},
		{"a fetch of a tree by its name", fetches("gpu1", "fetch/"+o.Name, want(gittest.Git(w.t, filepath.Join(w.s.dir, ".."), "rev-parse", "HEAD^{tree}"))), "200 not our ref", notGit},
		{"a fetch of files of the repository", get("gpu1", "fetch/"+o.Name+"/config"), "404", notGit},
		{"a fetch of files beside it", get("gpu1", "fetch/"+o.Name+"/..%2f..%2fapi.token"), "404", notGit},
		{"an archive", get("gpu1", "fetch/"+o.Name+"/info/refs?service=git-upload-archive"), "403", notGit},
		{"a push where one fetches", get("gpu1", "fetch/"+o.Name+"/info/refs?service=git-receive-pack"), "403", notGit},
	}
}

// What a runner, who would be one, or who has something of one's tries beyond what it may is refused, recorded nowhere and logged; over real
// connections, at a box at work. The tests of httpapi hold every route against everybody, those of gitserver, pin, enrolment and fleet try more.
func TestRunnerAttacks(t *testing.T) {
	w := besiege(t)
	groups := []struct {
		by  string
		all []attack
	}{{"key", w.byKeys()}, {"invitation", w.byInvitation()}, {"token", w.byToken()}, {"runner", w.byRunner()}, {"git", w.byGit()}, {"checks", w.bySigning()}}
	exchange := filepath.Join(w.s.dir, "exchange.git")
	refs := gittest.Git(t, exchange, "for-each-ref")
	n := 0
	for _, group := range groups {
		for _, a := range group.all {
			n++
			t.Run(group.by+"/"+a.name, func(t *testing.T) {
				before, log := w.s.Box.UpTo(), w.log.size()
				status, answer, err := a.try()
				got := fmt.Sprint(status, " ", answer)
				code, words, _ := strings.Cut(a.want, " ")
				if err != nil {
					code, words, got = "", a.want, err.Error()
				}
				if !strings.HasPrefix(got, code) || !strings.Contains(got, words) {
					t.Errorf("it is answered %.300q, %v; want %s", got, err, a.want)
				}
				if strings.Contains(answer, w.s.dir) || strings.Contains(answer, w.tokens["owner"]) {
					t.Errorf("it is told what is none of its: %s", answer)
				}
				if a.log != "" && !t.Failed() {
					w.log.waitFor(t, log, a.log)
				}
				if after := w.s.Box.UpTo(); after != before {
					t.Errorf("%d events were recorded", after-before)
				}
			})
		}
	}
	if n < 40 {
		t.Errorf("%d attacks", n)
	}
	if got := gittest.Git(t, exchange, "for-each-ref"); got != refs {
		t.Errorf("the refs were\n%s\nand are\n%s", refs, got)
	}
	if all, _ := w.log.since(0); strings.Contains(all, w.tokens["owner"]) || strings.Contains(all, w.orders["gpu1"].Token) || strings.Contains(all, w.spent["gpu1"]) {
		t.Error("the log has a secret")
	}
	// The control: what the others tried is taken of who may.
	o := w.orders["gpu1"]
	if status, answer, err := w.ask("gpu1", "POST", "/v1/runner/git/push/"+o.Session.ID+"/1/git-receive-pack", w.tokens["control"], "Content-Type", "application/x-git-receive-pack-request"); !strings.Contains(answer, "unpack ok") {
		t.Errorf("its own push: %d %q, %v", status, answer, err)
	}
	pushed, err := order.WriteInput(o.Run.Subject, delivery.Pushed{Session: o.Session.ID, Commit: strings.Fields(w.tokens["control"])[1]})
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]any{"ref": order.Push{Session: o.Session.ID, Number: 2}, "hand-in": pushed, "here": order.Here{Protocol: order.Protocol(), Places: 1}} {
		if status, answer, err := w.ask("gpu1", "POST", "/v1/runner/"+path, body); status != http.StatusOK {
			t.Errorf("its own %s: %d %s, %v", path, status, answer, err)
		}
	}
	if status, answer, err := w.ask("gpu1", "POST", "/v1/sessions/"+o.Session.ID+"/report", api.SessionReport{Kind: api.ReportEnded, Seq: 1, How: "done"}, bearing(o.Token)...); status != http.StatusOK {
		t.Errorf("its session's end: %d %s, %v", status, answer, err)
	}
}
