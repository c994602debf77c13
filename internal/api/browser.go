package api

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
)

// NewPage asks for a link to the page.
type NewPage struct {
	Scope   access.Scope `json:"scope"`             // read, answer or operate, which has answer in it: what a person does
	Name    string       `json:"name,omitempty"`    // whose browser it is: what it does is recorded as client:page-NAME; a random one if empty
	Address string       `json:"address,omitempty"` // beyond the box's machine, a name of its certificate, and a port unless it is the one that it listens on: the link leads there; to its machine if empty
}

// PageLink logs one browser in, once.
type PageLink struct {
	URL       string       `json:"url"`
	Scope     access.Scope `json:"scope"`
	ExpiresAt time.Time    `json:"expires_at"`
}

// Page makes a link to the box's page.
func (c *Client) Page(ctx context.Context, q NewPage) (PageLink, error) {
	return post[PageLink](ctx, c, "/v1/page", NewKey(), q)
}
