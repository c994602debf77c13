package modeltest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves scripts: names of files in testdata, or scripts themselves.
func start(t *testing.T, scripts ...string) *modeltest.Server {
	t.Helper()
	var parsed []modeltest.Script
	for _, text := range scripts {
		name := "inline"
		if strings.HasSuffix(text, ".script") {
			name = text
			raw, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			text = string(raw)
		}
		s, err := modeltest.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, s)
	}
	s, err := modeltest.Start(parsed...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// refuseUnexpected fails the test if the server was asked what its script has not.
func refuseUnexpected(t *testing.T, s *modeltest.Server) {
	t.Helper()
	for _, r := range s.Unexpected() {
		t.Errorf("unexpected: %+v", r)
	}
}

type obj = map[string]any

// format is one vendor's format, as a client speaks it.
type format struct {
	name string
	path func(stream bool) string
	// body is a request with a history.
	body func(h []said, tools []string, stream bool) obj
	// read takes a reply from what the server has sent: one object, or one for each event.
	read func(sent []obj, stream bool) said
}

// said is one message of a history.
type said struct {
	From    string // user, model, tool
	Text    string
	Calls   []call
	Results []string // of the calls of the message before
	Usage   string
	Stop    string
}

type call struct{ ID, Tool, Args string }

func formats() []format {
	return []format{anthropicClient(), responsesClient(), chatClient(), geminiClient()}
}

// post sends a request; the caller closes the answer.
func post(t *testing.T, url string, body obj, header ...string) *http.Response {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// events reads server-sent events until the stream ends. The error is that of a stream that
// was cut.
func events(r io.Reader) ([]obj, error) {
	var all []obj
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
			var o obj
			if err := json.Unmarshal([]byte(data), &o); err != nil {
				return all, fmt.Errorf("an event that is no JSON: %w", err)
			}
			all = append(all, o)
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// ask sends a history and returns the reply.
func (f format) ask(t *testing.T, s *modeltest.Server, h []said, tools []string, stream bool) said {
	t.Helper()
	resp := post(t, s.URL()+f.path(stream), f.body(h, tools, stream))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: status %d: %s", f.name, resp.StatusCode, raw)
	}
	if stream {
		all, err := events(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return f.read(all, true)
	}
	var whole obj
	if err := json.NewDecoder(resp.Body).Decode(&whole); err != nil {
		t.Fatal(err)
	}
	return f.read([]obj{whole}, false)
}

// get walks into decoded JSON by names and indexes. What is not there is nil.
func get(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(obj)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func str(v any, path ...any) string {
	s, _ := get(v, path...).(string)
	return s
}

func list(v any, path ...any) []any {
	l, _ := get(v, path...).([]any)
	return l
}

func tokens(in, cached, out any) string {
	return fmt.Sprintf("%v in, %v cached, %v out", in, cached, out)
}

// normal is JSON in one form, whatever the order it came in.
func normal(t *testing.T, raw string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("arguments %q: %v", raw, err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
