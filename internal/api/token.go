package api

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
)

// Headers by which the owner of a box speaks for a client: a request with them beside the token of api.token is that
// client's, with these scopes alone (names with blanks between them).
const (
	ClientHeader = "Signalbox-Client"
	ScopesHeader = "Signalbox-Scopes"
)

// NewToken asks for a token.
type NewToken struct {
	Name   string         `json:"name"`
	Scopes []access.Scope `json:"scopes"`
	TTLMS  int64          `json:"ttl_ms,omitempty"` // for ever if it is 0
}

// ClientToken is what there is to know about a client's token. What it is was told once.
type ClientToken struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Scopes    []access.Scope `json:"scopes"`
	CreatedAt time.Time      `json:"created_at"`
	ExpiresAt time.Time      `json:"expires_at,omitzero"` // never, if it is not there
	LastUsed  time.Time      `json:"last_used,omitzero"`  // since the box started
}

// CreatedToken is a token that was just made.
type CreatedToken struct {
	ClientToken
	Secret string `json:"token"`
}

// CreateToken makes a token for a client.
func (c *Client) CreateToken(ctx context.Context, t NewToken) (CreatedToken, error) {
	return post[CreatedToken](ctx, c, "/v1/tokens", NewKey(), t)
}

// Tokens lists the tokens that are neither revoked nor expired.
func (c *Client) Tokens(ctx context.Context) ([]ClientToken, error) {
	return get[[]ClientToken](ctx, c, "/v1/tokens")
}

// RevokeToken ends a token, of this id or of the client with this name.
func (c *Client) RevokeToken(ctx context.Context, which string) (ClientToken, error) {
	return post[ClientToken](ctx, c, "/v1/tokens/"+escapePath(which)+"/revoke", NewKey(), nil)
}
