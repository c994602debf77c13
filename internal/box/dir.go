package box

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Dir is a box's directory. Everything in it is for its owner alone.
type Dir string

// What lies in the directory, besides the archive's own.
const (
	lockFile     = "lock"
	startingFile = "starting" // locked by who waits for the other lock, to stay
	addressFile  = "box.json"
	portFile     = "port"
	signerFile   = "signer.key"
	verifierFile = "verifier.key"
	apiTokenFile = "api.token"
	gateFile     = "gate.token"
	snapshotFile = "snapshot"
	scrubFile    = "scrub.json"
	indexDir     = "index"
	archiveDir   = "archive"
	archiveFile  = "archive.path" // where it lies, if elsewhere
)

// ErrNoDir is returned where a box was never started.
var ErrNoDir = errors.New("there is no box here")

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// Archive returns where the archive lies: where it is configured to lie, where it
// lay when the box was last started, or in the directory.
func (d Dir) Archive(configured string) string {
	if configured != "" {
		return configured
	}
	if data, err := d.readFile(archiveFile, maxSmall); err == nil && len(data) > 0 {
		return strings.TrimSuffix(string(data), "\n")
	}
	return d.path(archiveDir)
}

// create makes the directory, and keeps it out of version control.
func (d Dir) create() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	return d.once(".gitignore", func() (string, error) { return "*\n", nil })
}

// once writes a file unless it is there.
func (d Dir) once(name string, content func() (string, error)) error {
	if _, err := os.Stat(d.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := content()
	if err != nil {
		return err
	}
	return d.write(name, []byte(text))
}

// write replaces a file durably.
func (d Dir) write(name string, data []byte) error { return durable.WriteFile(d.path(name), data) }

// maxSmall bounds files of a few lines: keys, tokens, places, a checkpoint.
const maxSmall = 64 << 10

// readFile reads a file of at most so many bytes. For what is no regular file nobody waits.
func (d Dir) readFile(name string, most int64) ([]byte, error) {
	return regular.Read(d.path(name), most)
}

func (d Dir) read(name string) (string, error) {
	data, err := d.readFile(name, maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s has no %s: start one with `signalbox up`", ErrNoDir, d, name)
	}
	text := strings.TrimSuffix(string(data), "\n")
	if err == nil && text == "" {
		err = fmt.Errorf("%s is empty: put it back from a copy; a token is made anew if you remove the file", d.path(name))
	}
	return text, err
}

// APIToken returns the token that requests carry.
func (d Dir) APIToken() (string, error) { return d.read(apiTokenFile) }

// Redactor takes out of text what a box stores nowhere: secrets that are known by their form, those that the operator lists, tokens of the
// box, its clients and its sessions, and invitations.
func (d Dir) Redactor(listed []string) (*redact.Redactor, error) {
	api, err := d.APIToken()
	if err != nil {
		return nil, err
	}
	gate, err := d.read(gateFile)
	if err != nil {
		return nil, err
	}
	return redact.New(slices.Concat(listed, []string{regexp.QuoteMeta(api), regexp.QuoteMeta(gate), access.SecretPattern, access.SessionPattern, access.InvitationPattern}))
}

// Verifier returns the key that checks the ledger's signatures.
func (d Dir) Verifier() (string, error) { return d.read(verifierFile) }

// Address returns where the running box listens. A box that was killed leaves its
// address behind, where somebody else may listen by now: the lock tells.
func (d Dir) Address() (string, error) {
	held, err := filelock.HeldDir(string(d))
	if err == nil && !held { // where directories can't be locked
		held, err = filelock.Held(d.path(lockFile))
	}
	if err != nil || !held {
		return "", cmp.Or(err, api.ErrNotRunning)
	}
	data, err := d.readFile(addressFile, maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return "", api.ErrNotRunning
	}
	if err != nil {
		return "", err
	}
	var a struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal(data, &a); err != nil || a.Address == "" {
		return "", fmt.Errorf("%s can't be read: stop the box and start it again", d.path(addressFile))
	}
	return a.Address, nil
}

func (h *holding) setAddress(address string) error {
	data, err := json.Marshal(map[string]any{"address": address, "pid": os.Getpid()})
	if err != nil {
		return err
	}
	return h.write(addressFile, append(data, '\n'))
}

// LastPort is the port that a box here has listened on last; 0 if it is not known.
func (d Dir) LastPort() uint16 {
	data, err := d.readFile(portFile, maxSmall)
	if err != nil {
		return 0 // any other port will do
	}
	port, err := strconv.ParseUint(strings.TrimSuffix(string(data), "\n"), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}

// secrets makes the tokens and, for a new ledger, its keys. A ledger that is there
// without its key is not given another: that would be another ledger.
func (d Dir) secrets(archiveDir string) (archive.Keys, error) {
	for _, name := range []string{apiTokenFile, gateFile} {
		if err := d.once(name, func() (string, error) { return rand.Text() + "\n", nil }); err != nil {
			return archive.Keys{}, err
		}
	}
	_, err := os.Stat(d.path(signerFile))
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.newKeys(archiveDir); err != nil {
			return archive.Keys{}, err
		}
	}
	return d.keys()
}

// keys reads the signer's key and makes the verifier's from it, which is kept in a
// file of its own for people.
func (d Dir) keys() (archive.Keys, error) {
	signer, err := d.read(signerFile)
	if err != nil {
		return archive.Keys{}, err
	}
	verifier, err := ledger.VerifierKey(signer)
	if err != nil {
		return archive.Keys{}, fmt.Errorf("%s is damaged (%w): put it back from a copy", d.path(signerFile), err)
	}
	if got, err := d.read(verifierFile); err != nil || got != verifier {
		if err := d.write(verifierFile, []byte(verifier+"\n")); err != nil {
			return archive.Keys{}, err
		}
	}
	return archive.Keys{Signer: signer, Verifier: verifier}, nil
}

func (d Dir) newKeys(archiveDir string) error {
	if entries, err := os.ReadDir(archiveDir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is gone, and %s holds a ledger that was signed with it: put the key back from a copy",
			d.path(signerFile), archiveDir)
	}
	origin := ledger.Origin("signalbox/"+strings.ToLower(rand.Text()), 1)
	signer, _, err := ledger.NewKey(origin)
	if err != nil {
		return err
	}
	return d.write(signerFile, []byte(signer+"\n"))
}
