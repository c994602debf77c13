package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// From says which part of a list is wanted. Lists are in the order of adding.
type From struct {
	After string // the id of the last one that was seen; from the first if empty
	Limit int    // how many at most; all if 0
}

// Page is a part of a list.
type Page[T any] struct {
	Items []T
	Next  string // what to give as After for those that follow; empty at the end
}

// PageSize is how many a client asks for at once that wants a long list.
const PageSize = 1000

// List returns work items in a phase, or in any.
func (c *Client) List(ctx context.Context, phase agentsig.Phase, from From) (Page[Work], error) {
	q := url.Values{}
	if phase != "" {
		q.Set("phase", string(phase))
	}
	return list[Work](ctx, c, "/v1/work", q, from)
}

// Runs returns runs; with live only those that have not ended.
func (c *Client) Runs(ctx context.Context, live bool, from From) (Page[Run], error) {
	q := url.Values{}
	if live {
		q.Set("live", "true")
	}
	return list[Run](ctx, c, "/v1/runs", q, from)
}

// Pages calls f with page after page of what was asked for, of this size, so that a long list is never held as a
// whole. It returns what to give as After for those that follow; empty at the end.
func Pages[T any](from From, size int, get func(From) (Page[T], error), f func([]T) error) (next string, err error) {
	for left := from.Limit; ; {
		ask := From{After: from.After, Limit: size}
		if from.Limit > 0 {
			ask.Limit = min(left, size)
		}
		page, err := get(ask)
		if err != nil {
			return "", err
		}
		if err := f(page.Items); err != nil {
			return "", err
		}
		left -= len(page.Items)
		from.After = page.Next
		if page.Next == "" || from.Limit > 0 && left <= 0 {
			return page.Next, nil
		}
	}
}

// Query returns the query of a request for this part of a list.
func (f From) Query(q url.Values) string {
	if f.After != "" {
		q.Set("after", f.After)
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q.Encode()
}

// NextLink is the value of the header Link that says where a list goes on.
func NextLink(path, query string) string { return fmt.Sprintf(`<%s?%s>; rel="next"`, path, query) }

// nextOf reads what NextLink wrote; empty if there is no such header.
func nextOf(h http.Header) (string, error) {
	target, ok := strings.CutSuffix(h.Get("Link"), `>; rel="next"`)
	if !ok {
		return "", nil
	}
	u, err := url.Parse(strings.TrimPrefix(target, "<"))
	if err != nil {
		return "", fmt.Errorf("the box says in what can't be read where the list goes on: %w", err)
	}
	return u.Query().Get("after"), nil
}

func list[T any](ctx context.Context, c *Client, path string, q url.Values, from From) (p Page[T], err error) {
	data, header, err := c.read(ctx, http.MethodGet, path+"?"+from.Query(q), "", nil)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p.Items); err != nil {
		return p, fmt.Errorf("the box answered what can't be read: %w", err)
	}
	p.Next, err = nextOf(header)
	return p, err
}
