package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/ledger"
)

const (
	signerFile   = "signer.key"
	verifierFile = "verifier.key"
)

func tokenFiles() []string { return []string{"api.token", "gate.token"} }

// secretFiles are those that every box has.
func secretFiles() []string { return append([]string{signerFile, verifierFile}, tokenFiles()...) }

// ownKey is the file with the key that runners have pinned. A box that never listened beyond its machine has none.
const ownKey = pin.File

// isSecret says whether a file is for the owner of the box alone.
func isSecret(name string) bool { return name == ownKey || slices.Contains(secretFiles(), name) }

// checkSecrets looks whether the keys in a directory are a pair, and the tokens such as a box makes them. It returns
// the verifier's key.
func checkSecrets(dir string) (verifier string, err error) {
	texts := map[string]string{}
	for _, name := range secretFiles() {
		data, err := regular.Read(filepath.Join(dir, name), maxSmall)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, errors.Unwrap(err))
		}
		texts[name] = strings.TrimSuffix(string(data), "\n") // as a box reads it
	}
	if verifier, err = ledger.VerifierKey(texts[signerFile]); err != nil {
		return "", fmt.Errorf("%s: %w", signerFile, err)
	}
	if texts[verifierFile] != verifier {
		return "", fmt.Errorf("%s does not belong to %s", verifierFile, signerFile)
	}
	for _, name := range tokenFiles() {
		if !isToken(texts[name]) {
			return "", fmt.Errorf("%s holds no token as a box makes it", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, ownKey)); errors.Is(err, fs.ErrNotExist) {
		return verifier, nil
	}
	_, err = pin.OpenKey(dir)
	return verifier, err
}

// isToken says whether a text is one that [crypto/rand.Text] makes, which may become longer.
func isToken(text string) bool {
	return len(text) >= 26 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
