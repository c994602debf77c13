package homelink

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// noted is a body that notes that it was closed.
type noted struct {
	io.Reader
	closed bool
}

func (n *noted) Close() error {
	n.closed = true
	return nil
}

// A question is not held with its bytes: the body is closed before it is carried out, which may take hours.
func TestBodyClosed(t *testing.T) {
	body, asked := &noted{Reader: strings.NewReader("{}")}, false
	s := newServer(map[string]method{"x": func(context.Context, question) (answer, error) {
		if asked = true; !body.closed {
			t.Error("its body is open")
		}
		return answer{}, nil
	}}, false, slog.New(slog.DiscardHandler))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, HomePath+"x", nil)
	r.Body = body
	if s.ServeHTTP(httptest.NewRecorder(), r); !asked {
		t.Error("nothing was carried out")
	}
}
