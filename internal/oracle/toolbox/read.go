package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	maxServers     = 50
	maxServerName  = 64
	longestTimeout = time.Hour
)

// reader reads a configuration and gathers what is wrong with it.
type reader struct {
	file   string
	dir    string // the file's
	lookup func(string) (string, bool)
	errs   []error
}

// fail says what is wrong at a key. What is quoted of the file never is a value of env or
// headers.
func (r *reader) fail(key, format string, args ...any) {
	where := safetext.Escape(r.file)
	if key != "" {
		where += ": " + safetext.Escape(key)
	}
	r.errs = append(r.errs, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

func (r *reader) config(data []byte) Config {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(any)); errors.As(err, &syntax) {
		before := data[:min(int(syntax.Offset), len(data))]
		r.fail("", "line %d is not JSON: %s", bytes.Count(before, []byte("\n"))+1, safetext.Escape(syntax.Error()))
		return Config{}
	}
	c := Config{Servers: map[string]Server{}}
	all := r.object("", data, "mcpServers", "builtin")
	if raw, ok := all["mcpServers"]; ok {
		servers := r.object("mcpServers", raw)
		if len(servers) > maxServers {
			r.fail("mcpServers", "there are %d servers of at most %d", len(servers), maxServers)
			return c
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			key := "mcpServers." + name
			if name == "" || utf8.RuneCountInString(name) > maxServerName {
				r.fail(key, "a server's name has 1 to %d characters", maxServerName)
			}
			c.Servers[name] = r.server(key, servers[name])
		}
	}
	builtin := r.object("builtin", all["builtin"], "code", "web")
	c.Root = r.code("builtin.code", builtin["code"])
	c.Web = r.web("builtin.web", builtin["web"])
	return c
}

func (r *reader) server(key string, raw json.RawMessage) Server {
	o := r.object(key, raw, "args", "command", "cwd", "env", "headers", "timeout", "transport", "type", "url")
	var s Server
	var used []string
	s.Command = r.expanded(key+".command", o["command"], nil)
	s.Dir = r.expanded(key+".cwd", o["cwd"], nil)
	s.URL = r.expanded(key+".url", o["url"], &used)
	for i, raw := range r.list(key+".args", o["args"]) {
		s.Args = append(s.Args, r.expanded(fmt.Sprintf("%s.args[%d]", key, i), raw, &used))
	}
	s.Env = r.texts(key+".env", o["env"], func(name, _ string) string {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return "no environment variable has this name"
		}
		return ""
	})
	s.Headers = r.texts(key+".headers", o["headers"], func(name, value string) string {
		if !headerName.MatchString(name) {
			return "no header has this name"
		} else if strings.ContainsAny(value, "\r\n\x00") {
			return "the value has a line break or a zero byte, which no header may have"
		}
		return ""
	})
	s.Timeout = r.timeout(key+".timeout", o["timeout"])
	s.secrets = used
	r.place(key, &s)
	for _, name := range []string{"type", "transport"} {
		r.kind(key+"."+name, o[name], s)
	}
	return s
}

var headerName = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$")

// place checks that a server is a program or an address, and makes its paths absolute.
func (r *reader) place(key string, s *Server) {
	switch {
	case s.Command == "" && s.URL == "":
		r.fail(key, `the server has neither "command", for a program, nor "url", for an address`)
	case s.Command != "" && s.URL != "":
		r.fail(key, `the server has both "command" and "url": leave one out`)
	case s.URL != "":
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			r.fail(key+".url", "it is not an address that begins with http:// or https://")
		}
		if len(s.Args)+len(s.Env) > 0 || s.Dir != "" {
			r.fail(key, `"args", "env" and "cwd" are for a program, and this server is an address`)
		}
	default:
		if len(s.Headers) > 0 {
			r.fail(key+".headers", "they are for an address, and this server is a program")
		}
		if strings.ContainsAny(s.Command, `/`+string(filepath.Separator)) {
			s.Command = r.path(s.Command)
		}
		if s.Dir != "" {
			s.Dir = r.path(s.Dir)
		}
	}
}

// kind checks what other clients write of the transport.
func (r *reader) kind(key string, raw json.RawMessage, s Server) {
	kind := r.text(key, raw)
	want := s.Command
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(kind)) {
	case "":
		return
	case "stdio":
	case "http", "streamablehttp":
		want = s.URL
	case "sse":
		r.fail(key, "the transport sse is not supported: give the server's address for streamable HTTP, often one that ends in /mcp, and write \"http\"")
		return
	default:
		r.fail(key, "it is stdio or http, not %s", quote(kind))
		return
	}
	if want == "" {
		r.fail(key, `%s does not fit: "command" goes with stdio, "url" with http`, quote(kind))
	}
}

func (r *reader) timeout(key string, raw json.RawMessage) time.Duration {
	if raw == nil {
		return 0
	}
	d, err := time.ParseDuration(r.text(key, raw))
	if err != nil || d <= 0 || d > longestTimeout {
		r.fail(key, `it is a text such as "60s" or "5m", more than 0 and at most 1h`)
	}
	return d
}

// code returns the directory of the code tools.
func (r *reader) code(key string, raw json.RawMessage) string {
	o := r.object(key, raw, "enabled", "root")
	root := r.text(key+".root", o["root"])
	switch {
	case !r.flag(key+".enabled", o["enabled"], true):
		return ""
	case root == "":
		return top(".")
	}
	return r.path(root)
}

func (r *reader) web(key string, raw json.RawMessage) Web {
	o := r.object(key, raw, "enabled", "hosts")
	w := Web{Enabled: r.flag(key+".enabled", o["enabled"], false)}
	for i, raw := range r.list(key+".hosts", o["hosts"]) {
		at := fmt.Sprintf("%s.hosts[%d]", key, i)
		host := strings.ToLower(r.text(at, raw))
		if !isHost(host) {
			r.fail(at, "%s is not a host: write a name such as go.dev, or one with a port such as localhost:8080", quote(host))
		}
		w.Hosts = append(w.Hosts, host)
	}
	if len(w.Hosts) > 0 && !w.Enabled {
		r.fail(key, `hosts are listed, and fetching is off: write "enabled": true, or leave them out`)
	}
	return w
}

// isHost reports whether a text is a name or an address, perhaps with a port.
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	u, err := url.Parse("http://" + s)
	return err == nil && u.Host == s && u.Hostname() != "" && !strings.ContainsAny(s, "*@ ") && !strings.HasSuffix(s, ":")
}

// path is a path as seen from the file's directory.
func (r *reader) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(r.dir, p)
}

// object reads an object's members, none of which is there twice. With names, it has no
// others. One that is not there has no members.
func (r *reader) object(key string, raw json.RawMessage, names ...string) map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	if raw == nil {
		return members
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		r.fail(key, "it is a JSON object, {…}")
		return members
	}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			r.fail(key, "it is not JSON")
			return members
		}
		at := strings.TrimPrefix(key+"."+name, ".")
		if _, twice := members[name]; twice {
			r.fail(at, "the key is there twice")
		}
		if len(names) > 0 && !slices.Contains(names, name) {
			r.fail(at, "there is no such key, only %s", strings.Join(names, ", "))
			continue
		}
		members[name] = value
	}
	return members
}

func (r *reader) list(key string, raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if raw != nil && (raw[0] != '[' || json.Unmarshal(raw, &list) != nil) {
		r.fail(key, "it is a JSON list, […]")
	}
	return list
}

func (r *reader) text(key string, raw json.RawMessage) (s string) {
	if raw == nil {
		return ""
	}
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		r.fail(key, `it is a text, in quotes`)
	} else if s == "" || strings.Contains(s, "\x00") {
		r.fail(key, "it is empty or has a zero byte: give it a value or leave it out")
	}
	return s
}

func (r *reader) flag(key string, raw json.RawMessage, missing bool) bool {
	if raw == nil {
		return missing
	}
	b, err := strconv.ParseBool(string(raw))
	if err != nil || string(raw) != "true" && string(raw) != "false" {
		r.fail(key, "it is true or false")
	}
	return b
}

// texts reads an object of texts, which may be empty. wrong says what is wrong with one.
func (r *reader) texts(key string, raw json.RawMessage, wrong func(name, value string) string) map[string]string {
	result := map[string]string{}
	members := r.object(key, raw)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := key + "." + name
		var value string
		if members[name][0] != '"' || json.Unmarshal(members[name], &value) != nil {
			r.fail(at, "it is a text, in quotes")
			continue
		}
		value = r.expand(at, value, nil)
		if w := wrong(name, value); w != "" {
			r.fail(at, "%s", w)
		} else if strings.Contains(value, "\x00") {
			r.fail(at, "the value has a zero byte")
		}
		result[name] = value
	}
	return result
}

// expanded reads a text and puts the values of environment variables into it.
func (r *reader) expanded(key string, raw json.RawMessage, used *[]string) string {
	return r.expand(key, r.text(key, raw), used)
}

var (
	variable     = regexp.MustCompile(`\$\{[^}]*\}?`)
	variableForm = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}$`)
)

// expand puts the values of environment variables into a text, and adds them to used.
func (r *reader) expand(key, s string, used *[]string) string {
	return variable.ReplaceAllStringFunc(s, func(whole string) string {
		form := variableForm.FindStringSubmatch(whole)
		if form == nil {
			r.fail(key, "%s is not ${NAME} or ${NAME:-text} with the name of an environment variable", quote(whole))
			return ""
		}
		value, set := r.lookup(form[1])
		switch {
		case set && used != nil:
			*used = append(*used, value)
		case !set && !strings.Contains(whole, ":-"):
			r.fail(key, "the environment variable %s is not set: set it, or write ${%s:-text} with a text to use instead", form[1], form[1])
		case !set:
			return form[2]
		}
		return value
	})
}

// hidden returns the texts that no error may show, the longest first: values of env and
// headers, what Load put into arguments and the URL, and what a URL carries beside its
// place. What is shorter than four characters is no secret.
func (s Server) hidden() []string {
	list := slices.Clone(s.secrets)
	for _, v := range s.Env {
		list = append(list, v)
	}
	for name, v := range s.Headers {
		list = append(list, v)
		if http.CanonicalHeaderKey(name) == "Authorization" {
			_, credentials, _ := strings.Cut(v, " ")
			list = append(list, strings.TrimSpace(credentials))
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		password, _ := u.User.Password()
		list = append(list, password, u.User.Username(), u.RawQuery)
		for _, values := range u.Query() {
			list = append(list, values...)
		}
	}
	list = slices.DeleteFunc(list, func(v string) bool { return len(v) < 4 })
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(list)
}
