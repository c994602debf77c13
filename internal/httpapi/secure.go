package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/memberlink"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/records"
)

// Secure is how a box answers beyond its machine, by TLS.
type Secure struct {
	Listener net.Listener
	Key      *pin.Key         // the box's own, which runners pin
	Users    *tls.Certificate // that others are shown; nil for the box's own
}

// WithSecure has the server answer there too: runners by the key that they have joined with, and others by their tokens.
func (s *Server) WithSecure(secure *Secure) *Server {
	s.secure = secure
	return s
}

// close closes the listener of a server that does not serve.
func (s *Secure) close() error {
	if s == nil {
		return nil
	}
	return s.Listener.Close()
}

// admit makes the connection of who may ask known. Anybody can make a key, so who is about to join stays a stranger. What members agree on has a connection
// although requests that they pass on, each on one of its own, have all others.
func admit(w http.ResponseWriter, r *http.Request, p access.Principal, asked route) error {
	if p.Kind == access.Guest {
		httpserver.BodyBegins(w, r)
		return nil
	}
	if asked.pattern == "POST "+memberlink.MessagesPath {
		return httpserver.AdmitNeeded(w, r)
	}
	return httpserver.Admit(w, r)
}

// Refused is told of a request to the page that was refused, and why.
func (s *Server) Refused(r *http.Request, why error) { s.logRefusal(r, why) }

// logRefusal notes that somebody of another machine asked for what they may not, or with the token of a session that is there, as often as that is worth a line. What strangers do
// keeps nobody from reading what a runner does, nor what one runner does what another one does.
func (s *Server) logRefusal(r *http.Request, why error) {
	if !secureOrigin(r) && !errors.Is(why, fleet.ErrNotYours) {
		return
	}
	pace, who := s.refusals, []any{"from", r.RemoteAddr}
	if holder, _ := s.keyHolder(r); holder.Kind == access.Runner {
		its, _ := s.runnersRefusals.LoadOrStore(holder.Name, httpserver.StrangersPace())
		pace, who = its.(*httpserver.Pace), append(who, "runner", holder.Name)
	}
	if missed, ok := pace.Take(time.Now()); ok {
		s.logger.Warn("a request was refused", append(who, "asks", r.Method+" "+r.URL.Path, "why", why, "not_logged_before", missed)...)
	}
}

// logBroken notes what a runner asked for, one of its sessions, or who wants to join, that none asks for: what has not the form, or is not its own.
// What came too late is no such thing.
func (s *Server) logBroken(r *http.Request, p access.Principal, why error) {
	if p.Kind != access.Runner && p.Kind != access.Session && p.Kind != access.Guest || errors.Is(why, records.ErrGap) {
		return
	}
	if status, _ := problemOf(why); status >= http.StatusBadRequest && status < http.StatusInternalServerError && status != http.StatusNotFound {
		s.logRefusal(r, why)
	}
}

// Addresses says where a box that is told to listen on an address does so without TLS, which is on its machine alone, and where with it:
// nowhere ("") if the address is of this machine, unless it is wanted there too.
func Addresses(listen, otherwise string, always bool) (plain, secure string) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || onLoopback(host) && !always {
		return listen, ""
	}
	return otherwise, listen
}

// Loopback says whether an address is of the machine itself, where no other one reaches it.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && onLoopback(host)
}

func onLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ListenSecure opens an address of this machine's networks. 0.0.0.0 is all of them, but for those of IPv6.
func ListenSecure(ctx context.Context, address string) (net.Listener, error) {
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).To4() != nil {
		network = "tcp4"
	}
	l, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		err = fmt.Errorf("a box can't listen on %s: %w: name another address (--listen, or listen in signalbox.yaml)", address, err)
	}
	return l, err
}

// serve answers on the listeners until the server is shut down, and returns a channel that has why each ended, and how many they are.
func (s *Server) serve(server *httpserver.Server, plain net.Listener) (ended chan error, all int) {
	if s.secure != nil {
		server.Secure(pin.Server(s.secure.Key, s.secure.Users, func(hash string) bool {
			_, known := s.box.RunnerByKey(hash)
			return known
		}, func(hash string) bool {
			_, known := s.memberByKey(hash)
			return known
		}))
	}
	ended = make(chan error, 2)
	go func() { ended <- server.Serve(plain) }()
	if s.secure == nil {
		return ended, 1
	}
	go func() { ended <- server.ServeSecure(s.secure.Listener) }()
	return ended, 2
}

// reachable are the addresses that others can find a listener at: its own, or if it is on all of this machine's, each of those.
func reachable(l net.Addr) ([]string, error) {
	at, ok := l.(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return []string{l.String()}, nil
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, a := range interfaces {
		n, ok := a.(*net.IPNet)
		if ok && n.IP.IsGlobalUnicast() && (at.IP.To4() == nil || n.IP.To4() != nil) && len(all) < access.MaxAddresses {
			all = append(all, net.JoinHostPort(n.IP.String(), strconv.Itoa(at.Port)))
		}
	}
	if len(all) == 0 { // not on any network: runners of this machine alone
		all = []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port))}
	}
	return all, nil
}
