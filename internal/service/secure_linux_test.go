package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

// listeners lists where this process listens, as the system has it.
func listeners(t *testing.T) (all []string) {
	t.Helper()
	own := map[string]bool{}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		to, _ := os.Readlink("/proc/self/fd/" + f.Name()) // that of the directory itself is gone
		own[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		data, err := os.ReadFile("/proc/self/net/" + table)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) > 9 && own[f[9]] && (f[3] == "0A" || strings.HasPrefix(table, "udp")) {
				all = append(all, table+" "+f[1])
			}
		}
	}
	slices.Sort(all)
	return all
}

// entry is what the system's table has of a listener.
func entry(l net.Listener) string {
	at := l.Addr().(*net.TCPAddr)
	ip := at.IP.To4()
	return fmt.Sprintf("tcp %02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], at.Port)
}

// A box that is not told to listen beyond its machine has one socket, on loopback; one that is has another, by TLS, with a key of its own that
// stays, and that others can't read.
func TestSockets(t *testing.T) {
	before := listeners(t)
	dir := t.TempDir()
	hash := ""
	for _, beyond := range []bool{false, true, true} {
		plain, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		want := append(slices.Clone(before), entry(plain))
		o := Options{Box: box.Options{Dir: box.Dir(dir)}}
		if beyond {
			if o.Secure, err = httpapi.ListenSecure(t.Context(), "127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			want = append(want, entry(o.Secure))
		}
		s, _, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, plain) }()
		if beyond {
			d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
			c, err := d.DialContext(t.Context(), "tcp", o.Secure.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			state := c.(*tls.Conn).ConnectionState()
			if got, _ := pin.PeerHash(&state); got != s.SecureKey() || hash != "" && got != hash {
				t.Errorf("the box has the key %s, and says %s; before it had %s", got, s.SecureKey(), hash)
			}
			_ = c.Close()
			hash = s.SecureKey()
		}
		slices.Sort(want)
		if got := listeners(t); !cmp.Equal(got, want) {
			t.Errorf("beyond its machine %t: it listens on %q, want %q", beyond, got, want)
		}
		info, err := os.Stat(filepath.Join(dir, pin.File))
		if beyond != (err == nil) || err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("beyond its machine %t: its key is %v, %v", beyond, info, err)
		}
		stop()
		if err := errors.Join(<-served, s.Close()); err != nil {
			t.Error(err)
		}
		if got := listeners(t); !cmp.Equal(got, before) {
			t.Errorf("when it has stopped, it listens on %q", got)
		}
	}
}

// A certificate that can't be read is refused before anything is served, and the directory is free after that.
func TestBadCertificate(t *testing.T) {
	dir := t.TempDir()
	l, err := httpapi.ListenSecure(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := Options{Box: box.Options{Dir: box.Dir(dir)}, Secure: l, Config: config.Config{TLS: config.TLS{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}}}
	for range 2 {
		if _, _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--tls-cert") {
			t.Errorf("without the files: %v", err)
		}
	}
}
