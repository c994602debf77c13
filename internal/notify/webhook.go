package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
)

// The headers of a message, by the Standard Webhooks specification.
const (
	idHeader        = "webhook-id"
	timestampHeader = "webhook-timestamp"
	signatureHeader = "webhook-signature"
)

// leastSecret is how long a secret has to be, in bytes.
const leastSecret = 16

// Secret makes of a variable's value what messages are signed with: the bytes that it has in base64 after whsec_, or its own.
func Secret(value string) ([]byte, error) {
	secret := []byte(value)
	if encoded, ok := strings.CutPrefix(value, config.SecretPrefix); ok {
		var err error
		if secret, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, errors.New("what follows " + config.SecretPrefix + " is no base64") // and not which byte of it
		}
	}
	if len(secret) < leastSecret {
		return nil, fmt.Errorf("it has %d bytes, and at least %d are needed", len(secret), leastSecret)
	}
	return secret, nil
}

// sign returns the signature of a message that is sent at a time.
func sign(secret []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = fmt.Fprintf(mac, "%s.%s.", id, timestamp) // which never fails
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// maxHeader is how long the head of an answer may be, in bytes. Its body is not read.
const maxHeader = 16 << 10

// webhooks calls the user's address, and no other: it follows no redirect, as who answers there could otherwise have a message
// sent anywhere, and goes by no proxy. Each message has a connection of its own, which is closed with what is left of the answer.
var webhooks = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader},
}

// webhook posts a message as JSON.
func (t *Teller) webhook(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.patient, fmt.Errorf("it took longer than %v", t.patient))
	defer cancel()
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.o.Notify.Webhook, bytes.NewReader(data))
	if err != nil {
		return errors.New("the webhook's address can't be asked") // which may be a secret
	}
	timestamp := strconv.FormatInt(t.o.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "signalbox")
	req.Header.Set(api.KeyHeader, m.ID)
	req.Header.Set(idHeader, m.ID)
	req.Header.Set(timestampHeader, timestamp)
	if len(t.o.Secret) > 0 {
		req.Header.Set(signatureHeader, sign(t.o.Secret, m.ID, timestamp, data))
	}
	resp, err := webhooks.Do(req)
	var failed *url.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", req.URL.Hostname(), context.Cause(ctx))
	case errors.As(err, &failed):
		return fmt.Errorf("%s: %w", req.URL.Hostname(), failed.Err) // without the address
	case err != nil:
		return err
	}
	_ = resp.Body.Close() // unread, whatever it is
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("%s answered %d %s", req.URL.Hostname(), resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nil
}
