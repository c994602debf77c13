package homelink

import (
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/gitserver"
)

// GitPath is where a home's git is for the runners on other machines that carry out orders of its runs: they speak to the box that leads.
const GitPath = HomePath + "git/"

// accessHeader has what a request of git may, as the box that leads says: base64 of JSON.
const accessHeader = "Signalbox-Access"

// ownHeaders begins the names of the headers in which boxes speak to each other.
const ownHeaders = "Signalbox-"

// Git answers the git of runners, as [gitserver.Server] does.
type Git interface {
	Serve(w http.ResponseWriter, r *http.Request, path string, a gitserver.Access)
}

// Serve has the git of that box answer a request. If the box is not reached, the request is to be made again.
func (h *Far) Serve(w http.ResponseWriter, r *http.Request, path string, a gitserver.Access) {
	away := func(w http.ResponseWriter, why error) {
		refuse(w, http.StatusServiceUnavailable, api.CodeBusy, h.unreached(why).Error())
	}
	carrier, ok := h.of.o.Carrier(h.box)
	if !ok || h.away() {
		away(w, errCarrier)
		return
	}
	access, err := json.Marshal(a)
	if err != nil {
		away(w, err)
		return
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = &url.URL{Scheme: "http", Host: "box", Path: GitPath + path, RawQuery: p.In.URL.RawQuery}
			p.Out.Host = ""
			p.Out.Header.Del("Authorization")
			p.Out.Header.Del("Connection")
			for name := range p.Out.Header { // what another box has said of the request, if it has passed it on: this one is the leader's own
				if strings.HasPrefix(name, ownHeaders) {
					p.Out.Header.Del(name)
				}
			}
			p.Out.Header.Set(accessHeader, base64.StdEncoding.EncodeToString(access))
		},
		Transport: carrier, FlushInterval: -1, ErrorLog: slog.NewLogLogger(h.of.o.Logger.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { away(w, err) },
	}
	proxy.ServeHTTP(w, r)
}

// ServeGit returns what answers, below [GitPath], what [Far.Serve] passes on. Who asks is the box that leads, and says what the request may.
func ServeGit(git Git) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a gitserver.Access
		data, err := base64.StdEncoding.DecodeString(r.Header.Get(accessHeader))
		if err == nil {
			err = json.Unmarshal(data, &a)
		}
		path, ok := strings.CutPrefix(r.URL.Path, GitPath)
		if err != nil || !ok || a.Who == "" {
			refuse(w, http.StatusBadRequest, api.CodeInvalid, "it does not say what the request may")
			return
		}
		git.Serve(w, r, path, a)
	})
}
