//go:build linux

package gitserver_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/gitserver"
	"github.com/signalbox-dev/signalbox/internal/gittest"
)

// gits are the processes that run for the repository.
func (s *served) gits() (found []string) {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, file := range all {
		if env, err := os.ReadFile(file); err == nil && strings.Contains(string(env), s.dir) {
			found = append(found, file)
		}
	}
	return found
}

// until waits for something that a process does.
func (s *served) until(what string, so func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("in vain: %s; git: %v; the log: %s", what, s.gits(), s.log)
		}
	}
}

// idle waits until nothing runs, and then sees whether there is a turn.
func (s *served) idle() {
	s.t.Helper()
	s.until("no git runs any more", func() bool { return len(s.gits()) == 0 })
	s.until("there is a turn", func() bool {
		status, _ := s.ask(s.t.Context(), http.MethodGet, "/info/refs?service=git-upload-pack", nil)
		return status == http.StatusOK
	})
}

// begin is a push that begins and goes on with whatever comes.
func (s *served) begin() string {
	return command(zero, s.names["trunk"], ours, can) + "PACK\x00\x00\x00\x02\x00\x00\x00\x01\xbf\xff\xff\xff\x7f\x78\x01" // a file of GiB
}

// A client that leaves leaves no git behind, whatever it was in the middle of.
func TestCancelled(t *testing.T) {
	t.Parallel()
	unpacked := commitOf(object{kind: 2})
	for name, half := range map[string]func(s *served) (service, body string){
		"a push that is unpacked": func(*served) (string, string) {
			return "receive-pack", command(zero, unpacked.hex(), ours, can) + string(packed(append(deltas(), unpacked)...))
		},
		"a push":  func(s *served) (string, string) { return "receive-pack", s.begin() },
		"a fetch": func(s *served) (string, string) { return "upload-pack", line("want "+s.names["trunk"]+" ") + "0000" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, gitserver.Limits{AtOnce: 1})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			service, body := half(s)
			more, writer := io.Pipe()
			defer func() { _ = writer.Close() }()
			processes := 1
			if name == "a push that is unpacked" { // all of it was sent, and git works on it by a second process
				_ = writer.Close()
				processes = 2
			}
			ended := make(chan error)
			go func() {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/git-"+service, io.MultiReader(strings.NewReader(body), more))
				if err == nil {
					r.Header.Set("Content-Type", "application/x-git-"+service+"-request")
					var a *http.Response
					if a, err = http.DefaultClient.Do(r); err == nil {
						_, err = io.Copy(io.Discard, a.Body)
						_ = a.Body.Close()
					}
				}
				ended <- err
			}()
			s.until("git runs", func() bool { return len(s.gits()) >= processes })
			cancel()
			_ = writer.CloseWithError(context.Canceled)
			if err := <-ended; err == nil {
				t.Error("it came to an end")
			}
			s.idle()
			if strings.Contains(s.refs(), ours) {
				t.Error("half a push made its ref")
			}
		})
	}
}

// A client that says nothing more, or takes nothing more, is not waited for.
func TestStall(t *testing.T) {
	t.Parallel()
	for name, half := range map[string]func(s *served) (service, body string){
		"half a line":  func(*served) (string, string) { return "receive-pack", "00ff" + zero },
		"half a pack":  func(s *served) (string, string) { return "receive-pack", s.begin() },
		"half a fetch": func(s *served) (string, string) { return "upload-pack", line("want "+s.names["trunk"]+" ") + "0000" },
		"reads nothing": func(s *served) (string, string) {
			return "upload-pack", line("want "+s.names["trunk"]+" side-band-64k") + "0000" + line("done")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, gitserver.Limits{AtOnce: 1, Stall: 300 * time.Millisecond})
			if name == "reads nothing" {
				s.grow()
			}
			service, body := half(s)
			var dialer net.Dialer
			conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_, err = fmt.Fprintf(conn, "POST /git-%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-git-%s-request\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n",
				service, service, len(body), body)
			if err != nil {
				t.Fatal(err)
			}
			if name == "reads nothing" {
				_, _ = io.WriteString(conn, "0\r\n\r\n")
			}
			s.until("it is given up", func() bool { return strings.Contains(s.log.String(), "refused, or failed") })
			s.idle()
		})
	}
}

// grow gives the repository more than connections hold.
func (s *served) grow() {
	s.t.Helper()
	s.git("config", "core.compression", "0")
	text := make([]byte, 16<<20)
	x := uint64(88172645463325252)
	for i := range text {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		text[i] = byte(x)
	}
	blob := gittest.GitIn(s.t, s.dir, string(text), "hash-object", "-w", "--stdin")
	tree := gittest.GitIn(s.t, s.dir, "100644 blob "+blob+"\tbig\n", "mktree")
	s.git("update-ref", "refs/heads/trunk", s.git("commit-tree", "-m", "big", tree))
	s.names["trunk"] = s.git("rev-parse", "trunk")
}

// trickle gives a little at a time, for ever.
type trickle struct{ text string }

func (t trickle) Read(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return copy(p, t.text), nil
}

// A client that goes on and on has its time.
func TestTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		service, head, more string
	}{
		"a fetch":        {"upload-pack", "want", line("have " + strings.Repeat("1", 40) + "\n")},
		"a push":         {"receive-pack", "push", "\x00\x01\x00\xfe\xffx"},
		"a list":         {"receive-pack", "", "0005x"},
		"a refused push": {"receive-pack", "refused", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, gitserver.Limits{AtOnce: 1, Time: 300 * time.Millisecond})
			head := map[string]string{"want": line("want "+s.names["trunk"]+" ") + "0000", "push": s.begin(), "refused": command(zero, s.names["trunk"], ours+"x", can)}[c.head]
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/git-"+c.service, io.MultiReader(strings.NewReader(head), trickle{c.more}))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-git-"+c.service+"-request")
			go func() {
				if a, err := http.DefaultClient.Do(r); err == nil { // an answer, or a connection that is cut
					_, _ = io.Copy(io.Discard, a.Body)
					_ = a.Body.Close()
				}
			}()
			s.until("it is given up", func() bool { return strings.Contains(s.log.String(), "refused, or failed") })
			s.idle()
		})
	}
}

// No more requests are served at once than may be; the others are told.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	s := newServed(t, gitserver.Limits{AtOnce: 1, Stall: time.Second})
	more, writer := io.Pipe()
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_, _ = s.post("upload-pack", io.MultiReader(strings.NewReader(line("want "+s.names["trunk"]+" ")+"0000"), more))
	}()
	s.until("git runs", func() bool { return len(s.gits()) > 0 })
	stop := make(chan bool)
	go func() { // not stalled, and not done
		defer func() { _ = writer.Close() }()
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				_, _ = io.WriteString(writer, line("have "+strings.Repeat("1", 40)+"\n"))
			}
		}
	}()
	status, answer := s.ask(t.Context(), http.MethodGet, "/info/refs?service=git-upload-pack", nil)
	if status != http.StatusServiceUnavailable || !strings.Contains(answer, "try again") {
		t.Errorf("a second request: %d %q", status, answer)
	}
	close(stop)
	<-ended
	s.idle()
}

// Nobody makes git ask the user's other servers for something, by its name.
func TestNotAskedFor(t *testing.T) {
	t.Parallel()
	s := newServed(t, gitserver.Limits{})
	asked := filepath.Join(t.TempDir(), "asked")
	s.git("config", "remote.origin.promisor", "true")
	s.git("config", "remote.origin.url", s.dir)
	s.git("config", "remote.origin.uploadpack", "touch "+asked+"; git-upload-pack")
	missing := strings.Repeat("1", 40)
	_, fetch := s.post("upload-pack", strings.NewReader(line("want "+missing+" ")+"0000"+line("done")))
	_, push := s.post("receive-pack", strings.NewReader(command(zero, missing, ours, can)+string(packed())))
	if !strings.Contains(fetch, "not our ref") || strings.Contains(push, "ok "+ours) {
		t.Errorf("what is missing is there: %q, %q", fetch, push)
	}
	if _, err := os.Stat(asked); err == nil {
		t.Error("the user's server was asked")
	}
}
