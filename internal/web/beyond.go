package web

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// below is the path that the page has beyond this machine, where the box's API answers to the same names. A browser there is shown
// a certificate of the user's, and a cookie with this name is sent by TLS alone, and to the name alone that has set it.
const (
	below     = "/page/"
	farCookie = "__Host-" + cookie
)

// isFar reports whether a request comes from beyond this machine.
func isFar(r *http.Request) bool { return r.TLS != nil }

// forFar reports whether a request from beyond this machine is for the page, under a name of the certificate. Who shows a key is a
// runner, or is about to be one, and no browser.
func (p *Page) forFar(r *http.Request, name string) bool {
	return p.o.Certificate != nil && len(r.TLS.PeerCertificates) == 0 && strings.HasPrefix(r.URL.Path+"/", below) && p.o.Certificate.VerifyHostname(name) == nil
}

var errOtherOrigin = errors.New("the request has another origin")

// fromHere refuses what another page sends, or has the browser ask for. Beyond this machine that is also one that came without TLS, which
// anybody on the way can make: a browser that says no more than the origin is held to all of it.
func (p *Page) fromHere(r *http.Request) error {
	if origin := r.Header.Get("Origin"); isFar(r) && r.Header.Get("Sec-Fetch-Site") == "" && origin != "" && !strings.EqualFold(origin, "https://"+r.Host) {
		return errOtherOrigin
	}
	return p.cross.Check(r)
}

// cookieOf is the name of the cookie that a browser is known by where it asks.
func cookieOf(r *http.Request) string {
	if isFar(r) {
		return farCookie
	}
	return cookie
}

// setCookie has the browser keep a secret for so many seconds, or forget it.
func setCookie(w http.ResponseWriter, r *http.Request, secret string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieOf(r), Value: secret, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: isFar(r), SameSite: http.SameSiteStrictMode,
	})
}

// command is how who runs the box gets a link for where a browser asks.
func command(r *http.Request) string {
	if isFar(r) {
		return "signalbox page --address " + r.Host
	}
	return "signalbox page"
}

// root is where the page is: at a port of this machine, or at an address beyond it, which is a name and a port.
func (p *Page) root(port, address string) (string, error) {
	if address == "" {
		return "http://" + p.o.Host + ":" + port + "/", nil
	}
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("the address %s has no port that there is", address)
	}
	if err := p.o.Certificate.VerifyHostname(name); err != nil {
		return "", fmt.Errorf("browsers would not take the box's certificate for %s: it is for %s", name, strings.Join(namesOf(p.o.Certificate), ", "))
	}
	return "https://" + address + below, nil
}

// namesOf are the names and addresses that a certificate is for.
func namesOf(c *x509.Certificate) []string {
	all := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return []string{"no name (subjectAltName)"}
	}
	return all
}
