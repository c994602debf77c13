package archivetest

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/ledger"
)

// RemoveBlobs removes every blob that events of an archive refer to, each by an event of its own, as a box
// does with those that it does not keep any longer. No box may run there. It returns how many.
func RemoveBlobs(ctx context.Context, files archive.FS, signer string) (n int, err error) {
	verifier, err := ledger.VerifierKey(signer)
	if err != nil {
		return 0, err
	}
	keys := archive.Keys{Signer: signer, Verifier: verifier}
	a, err := archive.Open(files, keys)
	if err != nil {
		return 0, err
	}
	if _, err := a.Start(ctx, 0); err != nil {
		return 0, err
	}
	var refs []ledger.Blob
	err = a.Entries(0, func(_ int64, stored []byte) error {
		e, err := ledger.Decode(stored)
		if err != nil {
			return err
		}
		found, err := e.Blobs()
		refs = append(refs, found...)
		return err
	})
	if err != nil {
		return 0, err
	}
	_, epoch, err := ledger.ParseOrigin(keys.Origin())
	if err != nil {
		return 0, err
	}
	var tip ledger.Tip
	for _, ref := range refs {
		if tip, err = removeBlob(a, epoch, tip, ref); err != nil {
			return n, err
		}
		n++
	}
	return n, a.Close()
}

func removeBlob(a *archive.Archive, epoch uint64, tip ledger.Tip, ref ledger.Blob) (ledger.Tip, error) {
	old, err := a.MarkBlobs([]ledger.Blob{ref}, time.Now().Add(time.Hour))
	if err == nil && len(old) == 0 {
		err = errors.New("a blob is not there: " + ref.SHA256.String())
	}
	if err != nil {
		return tip, err
	}
	payload, err := json.Marshal(ledger.BlobRemoved{Removed: old, Reason: "older than 90 days (the setting archive.keep)"})
	if err != nil {
		return tip, err
	}
	e := ledger.Event{
		Format: ledger.Format, Epoch: epoch, Subject: "housekeeping", ItemSeq: tip.ItemSeq + 1, Prev: tip.Sum,
		Type: ledger.TypeBlobRemoved, Actor: "box", Time: time.Now().UTC().Truncate(time.Millisecond), Payload: payload,
	}
	stored, err := e.Encode()
	if err != nil {
		return tip, err
	}
	if _, err := a.Append([][]byte{stored}); err != nil {
		return tip, err
	}
	index := a.Size() - 1
	if _, err := a.Seal(); err != nil {
		return tip, err
	}
	if _, err := a.RemoveBlobs(index); err != nil {
		return tip, err
	}
	return tip.Next(e, stored)
}
