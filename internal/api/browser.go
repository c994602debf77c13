package api

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
)

// NewPage asks for a link to the page.
type NewPage struct {
	Scope access.Scope `json:"scope"` // read, answer or operate, which has answer in it: what a person does
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
