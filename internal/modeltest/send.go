package modeltest

import (
	"net/http"
	"time"
	"unicode/utf8"
)

// sender is how an answer leaves the server: noted, and byte by byte if that is wanted.
type sender struct {
	http.ResponseWriter
	server *Server
	seen   *Request
	drip   bool
}

func (s *Server) sender(w http.ResponseWriter, seen *Request) http.ResponseWriter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &sender{w, s, seen, s.drip}
}

// Unwrap is for [http.ResponseController].
func (w *sender) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *sender) Write(b []byte) (int, error) {
	if !w.drip {
		w.stamp()
		return w.ResponseWriter.Write(b)
	}
	for i := range b {
		w.stamp()
		if _, err := w.ResponseWriter.Write(b[i : i+1]); err != nil {
			return i, err
		}
		if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
			return i + 1, err
		}
	}
	return len(b), nil
}

func (w *sender) stamp() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	w.seen.Done = time.Now()
}

// cutAt is where a content is to be cut, or less than 0.
func (s *Server) cutAt(text string) int {
	s.mu.Lock()
	at := min(s.cut, len(text))
	s.mu.Unlock()
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

func isEmpty(piece string) bool { return piece == "" }
