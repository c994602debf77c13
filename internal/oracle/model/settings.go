package model

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Provider is whose form of request it is.
type Provider string

// The providers.
const (
	OpenAI    Provider = "openai" // and what serves Chat Completions like it
	Anthropic Provider = "anthropic"
)

// Settings say whom to ask, and how.
type Settings struct {
	Provider Provider
	// BaseURL is where the server is, empty for the vendor's own: as other programs want
	// it, with /v1 for OpenAI and servers like it (http://localhost:11434/v1), without for
	// Anthropic.
	BaseURL string
	// Key may be empty where there is a BaseURL: local servers want none.
	Key string
	// HTTP is for a transport or proxy of one's own; nil will do. It does not follow
	// redirects, which would take the key elsewhere. Its timeout would cut long replies.
	HTTP *http.Client
}

// New makes a client. It asks nothing yet.
func New(s Settings) (Client, error) {
	if s.Provider != OpenAI && s.Provider != Anthropic {
		return nil, fmt.Errorf("no provider \"%s\"; there are %s and %s", safetext.Escape(bound(string(s.Provider), 40)), OpenAI, Anthropic)
	}
	if s.Key == "" && s.BaseURL == "" {
		return nil, fmt.Errorf("no key for %s: give one, or the base URL of a server that needs none", s.Provider)
	}
	if strings.ContainsFunc(s.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the key has a blank or another character in it that no key has")
	}
	base, err := baseURL(s.Provider, s.BaseURL)
	if err != nil {
		return nil, err
	}
	client := &http.Client{}
	if s.HTTP != nil {
		*client = *s.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if s.Provider == Anthropic {
		return newMessages(base, s.Key, client), nil
	}
	return newChat(base, s.Key, client), nil
}

// The vendors' own addresses.
const (
	openAIURL    = "https://api.openai.com/v1"
	anthropicURL = "https://api.anthropic.com"
)

// baseURL checks an address and brings it into one form, without a slash at its end. Errors
// do not repeat what may be a password.
func baseURL(p Provider, given string) (string, error) {
	given = strings.TrimSpace(given)
	if given == "" {
		return map[Provider]string{OpenAI: openAIURL, Anthropic: anthropicURL}[p], nil
	}
	u, err := url.Parse(given)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("the base URL is no address of a server; one looks like http://localhost:11434/v1")
	case u.User != nil:
		return "", errors.New("the base URL has a user name or password in it; give the key apart")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("the base URL has more than a path behind the server; leave out what begins with ? or #")
	}
	base := strings.TrimRight(u.String(), "/")
	if p == Anthropic {
		base = strings.TrimRight(strings.TrimSuffix(base, "/v1"), "/")
	}
	return base, nil
}
