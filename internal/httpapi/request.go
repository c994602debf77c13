package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/safetext"
)

// post reads a request with its key, carries it out and answers.
func post[Q, V any](do func(r *http.Request, p access.Principal, q Q, key string) (V, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
		key, err := keyOf(r, p)
		if err != nil {
			return err
		}
		q, err := decode[Q](r)
		if err != nil {
			return err
		}
		v, err := do(r, p, q, key)
		return reply(w, v, err)
	}
}

var errBadKey = fmt.Errorf("an %s has at most %d characters, none of them a control character", api.KeyHeader, api.MaxKey)

// keyOf returns the key of a request, as the ledger has it: those of two principals never meet.
func keyOf(r *http.Request, p access.Principal) (string, error) {
	key := r.Header.Get(api.KeyHeader)
	if len(key) > api.MaxKey || safetext.Escape(key) != key {
		return "", errBadKey
	}
	return p.Key(key)
}

// queryOf returns the parameters in a request's address. A form in its body is not read.
func queryOf(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest{fmt.Errorf("the parameters in the address can't be read: %w", err)}
	}
	return q, nil
}

// badRequest is what the caller got wrong in the form of a request.
type badRequest struct{ error }

// decode reads the body of a client's request. A member that the box does not know is refused: it is
// a mistake, and would have no effect.
func decode[T any](r *http.Request) (T, error) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	return document[T](d)
}

// decodeSessions reads the body of a session's request. A session may be of another version than the
// box: a member that the box does not know is ignored.
func decodeSessions[T any](r *http.Request) (T, error) {
	return document[T](json.NewDecoder(r.Body))
}

// document reads one JSON document, after which nothing may come.
func document[T any](d *json.Decoder) (v T, err error) {
	err = d.Decode(&v)
	if err == nil {
		if _, err = d.Token(); err == nil {
			err = errTrailing
		} else if errors.Is(err, io.EOF) {
			return v, nil
		}
	}
	return v, unread(err)
}

// unread says why a request's body could not be read.
func unread(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlow
	case errors.As(err, &large), errors.Is(err, httpserver.ErrAhead), errors.Is(err, errNoRoom), errors.Is(err, context.Canceled):
		return err
	}
	return badRequest{fmt.Errorf("the request is not what it should be: %w", err)}
}

// errSlow is not the request's fault: its client may have been stopped, and sends it again.
var errSlow = fmt.Errorf("the request did not come to its end within %v: send it again", httpserver.BodyPatience)

var errTrailing = errors.New("something follows its JSON document")

func reply(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	httpserver.Answering(w)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // a client that has gone misses it
	return nil
}
