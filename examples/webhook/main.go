// Command webhook receives what `notify.webhook` of signalbox.yaml sends: it takes only what is signed with the secret in HOOK_SECRET, and
// prints each message once, a line each.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxBody = 64 << 10        // bytes of a message
	maxAge  = 5 * time.Minute // of a signature: one that somebody recorded is good for no longer
	maxSeen = 10_000          // ids that are remembered
)

func main() {
	listen := flag.String("listen", "127.0.0.1:7080", "the `ADDRESS` to listen on")
	flag.Parse()
	secret, err := key(os.Getenv("HOOK_SECRET"))
	if err != nil {
		log.Fatal("HOOK_SECRET: ", err)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", l.Addr())
	server := &http.Server{Handler: &receiver{secret: secret, out: os.Stdout, seen: map[string]bool{}}, ReadTimeout: 10 * time.Second}
	log.Fatal(server.Serve(l))
}

// key is what messages are signed with.
func key(secret string) ([]byte, error) {
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		return base64.StdEncoding.DecodeString(encoded)
	}
	if secret == "" {
		return nil, errors.New("it is not set")
	}
	return []byte(secret), nil
}

// receiver takes messages.
type receiver struct {
	secret []byte
	out    io.Writer

	mu   sync.Mutex
	seen map[string]bool // ids of messages that were taken
	last []string        // the same, oldest first
}

// ServeHTTP takes a message. Whatever is answered but a 2xx has it sent again.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	if err != nil {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	}
	id := q.Header.Get("webhook-id")
	if !r.signed(id, q.Header.Get("webhook-timestamp"), q.Header.Get("webhook-signature"), body) {
		http.Error(w, "not signed", http.StatusUnauthorized)
		return
	}
	var m struct{ Kind, Text string }
	if err := json.Unmarshal(body, &m); err != nil {
		http.Error(w, "no message", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[id] {
		return // a double, which is fine
	}
	if _, err := fmt.Fprintf(r.out, "%s: %q\n", m.Kind, m.Text); err != nil { // %q: whatever an agent wrote, it stays a line
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	r.seen[id] = true
	if r.last = append(r.last, id); len(r.last) > maxSeen {
		delete(r.seen, r.last[0])
		r.last = r.last[1:]
	}
}

// signed reports whether a message was signed with the secret, a short while ago. There may be several signatures, while the secret
// is being replaced.
func (r *receiver) signed(id, timestamp, signatures string, body []byte) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age > maxAge || age < -maxAge {
		return false
	}
	mac := hmac.New(sha256.New, r.secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	for signature := range strings.FieldsSeq(signatures) {
		encoded, ok := strings.CutPrefix(signature, "v1,")
		sum, err := base64.StdEncoding.DecodeString(encoded)
		if ok && err == nil && hmac.Equal(sum, mac.Sum(nil)) { // in constant time
			return true
		}
	}
	return false
}
