package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"

	"github.com/signalbox-dev/signalbox/internal/api"
)

var (
	errBadLimit = fmt.Errorf("limit is how many are wanted at most: a whole number from 1 to %d", api.PageSize)
	errBadLive  = errors.New("live is true or false")
)

// limitOf reads how many a request wants at most; 0 if it does not say.
func limitOf(q url.Values) (int, error) {
	if !q.Has("limit") {
		return 0, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > api.PageSize {
		return 0, errBadLimit
	}
	return n, nil
}

// answerList answers with the part of a list that a request asks for. With a limit the header Link says
// where the list goes on, if it does. Without one it is the whole list, which is sent page by page: what
// the box holds does not grow with it.
func answerList[T any](logger *slog.Logger, w http.ResponseWriter, r *http.Request, get func(api.From) (api.Page[T], error)) error {
	q, err := queryOf(r)
	if err != nil {
		return err
	}
	limit, err := limitOf(q)
	if err != nil {
		return err
	}
	page, err := get(api.From{After: q.Get("after"), Limit: cmp.Or(limit, api.PageSize)})
	switch {
	case err != nil:
		return err
	case limit == 0:
		return sendList(logger, w, page, get)
	case page.Next != "":
		w.Header().Set("Link", api.NextLink(r.URL.Path, api.From{After: page.Next, Limit: limit}.Query(q)))
	}
	return reply(w, page.Items, nil)
}

// sendList sends a list from its first page to its end.
func sendList[T any](logger *slog.Logger, w http.ResponseWriter, page api.Page[T], get func(api.From) (api.Page[T], error)) error {
	w.Header().Set("Content-Type", "application/json")
	before := "["
	for {
		for _, v := range page.Items {
			data, err := json.Marshal(v)
			if err != nil {
				return brokeOff(logger, before != "[", err)
			}
			if _, err := w.Write(append([]byte(before), data...)); err != nil {
				return nil // the client has gone
			}
			before = ","
		}
		if page.Next == "" {
			break
		}
		var err error
		if page, err = get(api.From{After: page.Next, Limit: api.PageSize}); err != nil {
			return brokeOff(logger, before != "[", err)
		}
	}
	if before == "[" {
		_, _ = io.WriteString(w, before) // as below
	}
	_, _ = io.WriteString(w, "]\n") // a client that stopped reading misses it
	return nil
}

// brokeOff ends an answer that can't go on. A client that has got a part of it must not take that for
// the whole; one that has got nothing yet is told why.
func brokeOff(logger *slog.Logger, begun bool, err error) error {
	if !errors.Is(err, context.Canceled) { // that is the client's doing, or the box stops
		logger.Warn("an answer broke off", "error", err)
	}
	if begun {
		panic(http.ErrAbortHandler)
	}
	return err
}
