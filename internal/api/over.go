package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Post sends what a runner has to say, and returns the answer.
func Post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return post[T](ctx, c, path, "", body)
}

// Get asks what a runner has to know, and returns the answer.
func Get[T any](ctx context.Context, c *Client, path string) (T, error) { return get[T](ctx, c, path) }

// Stream calls connected when a stream has begun, and f with each of its messages, until it breaks off or ctx ends.
func (c *Client) Stream(ctx context.Context, path string, connected func(), f func(data string) error) error {
	resp, err := c.send(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	connected()
	err = serverSent(resp.Body, f)
	if err == nil {
		err = fmt.Errorf("%w any more: it has ended the connection", ErrNoBox)
	}
	return errors.Join(ctx.Err(), err)
}

// Cause is why a box was not reached, without the request: if others carry that, it names no place that anybody knows.
func Cause(err error) error {
	if not, is := errors.AsType[*url.Error](err); is {
		return not.Err
	}
	return err
}

// Insist says something again and again, with pauses that grow, until that settles it, or ctx ends.
func Insist[T any](ctx context.Context, say func() (v T, settled bool, err error)) (T, error) {
	for pause := MinPause; ; pause = min(2*pause, MaxPause) {
		v, settled, err := say()
		if settled || ctx.Err() != nil {
			return v, err
		}
		select {
		case <-time.After(Jitter(pause)):
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// How long to wait before somebody who did not answer is asked again.
const (
	MinPause = 50 * time.Millisecond
	MaxPause = 5 * time.Second
)

// Jitter is a pause, less a random part of its second half: many do not come back at once.
func Jitter(pause time.Duration) time.Duration {
	var b [2]byte
	_, _ = rand.Read(b[:]) // which never fails
	return pause/2 + pause/2*time.Duration(uint16(b[0])<<8|uint16(b[1]))/(1<<16)
}
