package service

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// besieged is a box that two runners work for, each on a task, and what its attackers have.
type besieged struct {
	t      *testing.T
	s      *Service
	at     string // where it listens by TLS
	plain  string // and on this machine
	log    *lines
	owner  *api.Client
	keys   map[string]*pin.Key           // of runners, by name, and of strangers
	lines  map[string]*enrolment.Carrier // their connections
	orders map[string]order.Assigned     // for the session that a runner has
	gate   order.Order                   // for checks, which gpu1 has
	tokens map[string]string             // of others
	spent  map[string]string             // secrets of invitations that are good no more
}

// lines are what is logged, and wait for more.
type lines struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.grown)
	l.grown = make(chan struct{})
	return l.text.Write(p)
}

func (l *lines) since(at int) (text string, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()[at:], l.grown
}

// size is how much there is.
func (l *lines) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Len()
}

// waitFor waits until something is logged.
func (l *lines) waitFor(t *testing.T, at int, says string) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		text, grown := l.since(at)
		if strings.Contains(text, says) {
			return
		}
		select {
		case <-grown:
		case <-limit:
			t.Errorf("the log does not say %q, but %q", says, text)
			return
		}
	}
}

// besiege opens the box, has runners join, and gives each of two of them a session.
func besiege(t *testing.T) *besieged {
	t.Helper()
	repo := gittest.New(t)
	settings, err := config.Parse(filepath.Join(repo, config.File), []byte("agents: {a: {command: [./agent]}}\nsandbox: {kind: none}\nchecks: [{name: any, command: \"true\"}]\naudit: always\n"))
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{grown: make(chan struct{})}
	secure, err := httpapi.ListenSecure(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := Open(t.Context(), Options{Box: box.Options{Dir: box.Dir(filepath.Join(repo, ".signalbox")), Logger: slog.New(slog.NewTextHandler(log, nil))}, Config: settings, Program: "true", Secure: secure})
	if err != nil {
		t.Fatal(err)
	}
	l, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, leave := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving, l) }()
	token, gate := s.Box.Tokens()
	w := &besieged{
		t: t, s: s, at: secure.Addr().String(), plain: l.Addr().String(), log: log, owner: api.NewClient(l.Addr().String(), token),
		keys: map[string]*pin.Key{}, lines: map[string]*enrolment.Carrier{}, orders: map[string]order.Assigned{},
		tokens: map[string]string{"owner": token, "gate": gate}, spent: map[string]string{},
	}
	ctx, hangUp := context.WithCancel(t.Context())
	t.Cleanup(func() {
		hangUp()
		for _, c := range w.lines {
			c.CloseIdleConnections()
		}
		w.owner.Close()
		leave()
		if err := <-served; err != nil {
			t.Error(err)
		}
		closed(t, s)
	})
	made, err := w.owner.CreateToken(t.Context(), api.NewToken{Name: "client", Scopes: []access.Scope{access.Operate}})
	if err != nil {
		t.Fatal(err)
	}
	w.tokens["client"] = made.Secret
	for _, name := range []string{"gpu1", "gpu2", "third", "fourth", "gone"} {
		w.spent[name] = w.invite(name, 0)
		w.connect(name, pin.Joining)
		if status, answer, err := w.ask(name, "POST", "/v1/runner/join", map[string]string{"secret": w.spent[name]}); status != http.StatusOK {
			t.Fatalf("%s joins: %d %s, %v", name, status, answer, err)
		}
		w.lines[name].CloseIdleConnections()
		w.connect(name, pin.Client)
	}
	for _, name := range []string{"gpu1", "gpu2"} { // which have a place for one session each
		here := order.Here{Protocol: order.Protocol(), Version: "test", Agents: []order.Agent{{Name: "a"}}, Places: 1}
		if status, answer, err := w.ask(name, "POST", "/v1/runner/here", here); status != http.StatusOK {
			t.Fatal(status, answer, err)
		}
	}
	_, task, _ := strings.Cut(onePlan, "####")
	if _, err := s.Conductor.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan + "\n####" + strings.ReplaceAll(task, "T-1", "T-2")}, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gpu1", "gpu2"} {
		got := make(chan order.Assigned, 1)
		go func() {
			_ = api.ClientOver(w.lines[name], "").Stream(ctx, fmt.Sprintf("/v1/runner/orders?protocol=%d", order.Protocol()), func() {}, func(data string) error {
				var n order.Notice
				if err := json.Unmarshal([]byte(data), &n); err != nil {
					return err
				}
				if n.Order != nil && n.Order.Session != nil {
					select {
					case got <- *n.Order:
					default:
					}
				}
				return nil
			}) // until the test ends
		}()
		select {
		case w.orders[name] = <-got:
		case <-time.After(2 * time.Minute):
			all, _ := log.since(0)
			run, err := w.owner.Run(t.Context(), "R1")
			t.Fatalf("%s is given nothing: %+v, %v\n%s", name, run, err, all)
		}
	}
	w.orderChecks(ctx)
	w.keys["stranger"] = w.newKey()
	w.connect("stranger", pin.Client)
	w.keys["guest"] = w.newKey()
	w.connect("guest", pin.Joining)
	if status, answer, err := w.ask("gone", "POST", "/v1/runner/here", order.Here{Protocol: 1}); status != http.StatusOK { // its connection is there before it is removed
		t.Fatal(status, answer, err)
	}
	if _, err := w.owner.RemoveRunner(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	w.keys["gone, again"] = w.keys["gone"]
	w.connect("gone, again", pin.Client)
	w.lines["nobody"] = enrolment.NewCarrier([]string{w.at}, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	return w
}

func (w *besieged) newKey() *pin.Key {
	w.t.Helper()
	k, err := pin.OpenKey(w.t.TempDir())
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

// connect has somebody connect with their key, which is made if there is none.
func (w *besieged) connect(who string, offer func(k *pin.Key, box string) *tls.Config) {
	w.t.Helper()
	if w.keys[who] == nil {
		w.keys[who] = w.newKey()
	}
	w.lines[who] = enrolment.NewCarrier([]string{w.at}, offer(w.keys[who], w.s.SecureKey()))
}

// invite invites a runner, and returns the secret.
func (w *besieged) invite(name string, ttl time.Duration) string {
	w.t.Helper()
	i, err := w.owner.InviteRunner(w.t.Context(), api.NewRunner{Name: name, TTLMS: ttl.Milliseconds()})
	if err != nil {
		w.t.Fatal(err)
	}
	line, err := access.ParseInvitation(i.Line)
	if err != nil {
		w.t.Fatal(err)
	}
	return line.Secret
}

// ask makes a request over somebody's connection: the body is bytes as they are, or a value that becomes JSON. Headers come in pairs.
func (w *besieged) ask(who, method, path string, body any, headers ...string) (status int, answer string, err error) {
	var from io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		from = strings.NewReader(b)
	case []byte:
		from = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return 0, "", err
		}
		from = bytes.NewReader(data)
	}
	host := "https://box"
	carrier := http.RoundTripper(w.lines[who])
	if who == "this machine" {
		host, carrier = "http://"+w.plain, &http.Transport{DisableKeepAlives: true}
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute) // what is taken that should not be may be a stream without end
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, host+path, from)
	if err != nil {
		return 0, "", err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := carrier.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// raw sends bytes over a connection that somebody's key is shown on, and returns what comes back.
func (w *besieged) raw(who, text string) (string, error) {
	d := tls.Dialer{Config: pin.Client(w.keys[who], w.s.SecureKey())}
	c, err := d.DialContext(w.t.Context(), "tcp", w.at)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	return string(answer), err
}

// attack is something that somebody tries who may not.
type attack struct {
	name string
	try  func() (status int, answer string, err error)
	want string // the status, and words of the answer; or of the error, if nothing is answered
	log  string // what is logged
}

const (
	refused = "a request was refused"
	notGit  = "a request of another machine's git was refused"
	badPack = "git has refused what another machine pushed"
	noShake = "TLS handshake error"

	noRunner = "the box does not know this runner" // what the handshake's end is made of
)

// bearing are the headers with a token.
func bearing(token string, more ...string) []string {
	return append([]string{"Authorization", "Bearer " + token}, more...)
}
