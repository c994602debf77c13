package index

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Mark says how much of the ledger an index covers: everything that had left memory when the
// ledger had this size and root.
type Mark struct {
	Size int64
	Root ledger.Hash
}

// listed is a file as the manifest lists it.
type listed struct {
	number     uint64
	tail, size int64             // where its tail begins, and ends
	sum        [sha256.Size]byte // of its tail
}

// manifest says what the index consists of.
type manifest struct {
	mark  Mark
	next  uint64 // the number of the next file
	files []listed
}

const (
	manifestName = "manifest"
	manifestTemp = "manifest.new"
	manifestHead = "signalbox index 2\n"
	fileEnd      = ".idx"
)

func fileName(number uint64) string { return fmt.Sprintf("%012d%s", number, fileEnd) }

// text writes the manifest, with its MAC.
func (m manifest) text(key []byte) []byte {
	var b bytes.Buffer
	b.WriteString(manifestHead)
	fmt.Fprintf(&b, "mark %d %s\nnext %d\n", m.mark.Size, m.mark.Root, m.next)
	for _, f := range m.files {
		fmt.Fprintf(&b, "file %d %d %d %s\n", f.number, f.tail, f.size, hex.EncodeToString(f.sum[:]))
	}
	fmt.Fprintf(&b, "mac %s\n", hex.EncodeToString(mac(key, b.Bytes())))
	return b.Bytes()
}

// mac keeps anybody else from writing an index that is believed.
func mac(secret, text []byte) []byte {
	key := sha256.Sum256(append([]byte("signalbox index\n"), secret...))
	h := hmac.New(sha256.New, key[:])
	h.Write(text)
	return h.Sum(nil)
}

// parseManifest reads what text wrote, and nothing else.
func parseManifest(data, key []byte) (manifest, error) {
	bad := func(what string) (manifest, error) {
		return manifest{}, &Damage{File: manifestName, What: what}
	}
	text := string(data)
	at := strings.LastIndex(text, "mac ")
	if !strings.HasPrefix(text, manifestHead) || at < 0 {
		return bad("it is not one of this format")
	}
	sum, err := hex.DecodeString(strings.TrimSuffix(text[at+len("mac "):], "\n"))
	if err != nil || !hmac.Equal(sum, mac(key, data[:at])) {
		return bad("it was altered, or written with another key")
	}
	var m manifest
	for line := range strings.Lines(text[len(manifestHead):at]) {
		var f listed
		word, _, _ := strings.Cut(line, " ")
		switch word {
		case "mark":
			var root string
			_, err = fmt.Sscanf(line, "mark %d %s\n", &m.mark.Size, &root)
			err = errors.Join(err, m.mark.Root.UnmarshalText([]byte(root)))
		case "next":
			_, err = fmt.Sscanf(line, "next %d\n", &m.next)
		case "file":
			var tail []byte
			_, err = fmt.Sscanf(line, "file %d %d %d %x\n", &f.number, &f.tail, &f.size, &tail)
			copy(f.sum[:], tail)
			m.files = append(m.files, f)
		}
		if err != nil {
			return bad("it can't be understood")
		}
	}
	if !bytes.Equal(m.text(key), data) {
		return bad("it is not written as it would be written")
	}
	return m, nil
}

// writeManifest replaces the manifest, durably. Replaced says that this may have happened
// although there is an error.
func (x *Index) writeManifest(m manifest) (replaced bool, err error) {
	f, err := x.fs.Create(manifestTemp)
	if err != nil {
		return false, writing(manifestName, err)
	}
	if _, err := f.Write(m.text(x.key)); err != nil {
		return false, writing(manifestName, errors.Join(err, f.Close()))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return false, x.fail(manifestName, err)
	}
	if err := x.fs.Rename(manifestTemp, manifestName); err != nil {
		return true, x.fail(manifestName, err)
	}
	if err := x.fs.SyncDir("."); err != nil {
		return true, x.fail(manifestName, err)
	}
	return true, nil
}

func writing(name string, err error) error { return fmt.Errorf("write %s of the index: %w", name, err) }

// number returns the number of the file with this name.
func number(name string) (uint64, bool) {
	var n uint64
	_, err := fmt.Sscanf(name, "%d", &n)
	return n, err == nil && fileName(n) == name
}

// clear removes what writes that were cut off have left.
func (m manifest) clear(files archive.FS, names []string) error {
	listed := map[uint64]bool{}
	for _, f := range m.files {
		listed[f.number] = true
	}
	var err error
	for _, name := range names {
		n, ok := number(name)
		if ok && !listed[n] || name == manifestTemp {
			err = errors.Join(err, files.Remove(name))
		}
	}
	return err
}
