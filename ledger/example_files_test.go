package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing/fstest"
	"time"

	"github.com/signalbox-dev/signalbox/ledger"
)

// sealedLedger writes a ledger of two events of one subject, and returns its files and the key to
// verify it with. It panics where a program would return an error.
func sealedLedger() (files fstest.MapFS, verifier string) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	files = fstest.MapFS{} // a directory, for example
	write := func(path string, data []byte) error {
		files[path] = &fstest.MapFile{Data: data}
		return nil
	}
	origin := ledger.Origin("ledger.example", 1)
	signer, verifier, err := ledger.NewKey(origin)
	must(err)

	// Each event names the hash of the one before it on the same subject.
	var edge ledger.Edge
	var chains ledger.Chains
	var bundle []byte
	for i, kind := range []string{"WorkAdded", "WorkDone"} {
		last := chains.Tip("W-1")
		e := ledger.Event{
			Format: ledger.Format, Epoch: 1, Subject: "W-1", ItemSeq: last.ItemSeq + 1, Prev: last.Sum, Type: kind, Actor: "alice",
			Time: time.Date(2026, 3, 1, 12, i, 0, 0, time.UTC), Payload: json.RawMessage(`{}`),
		}
		stored, err := e.Encode()
		must(err)
		_, err = chains.Add(stored)
		must(err)
		must(edge.Append(stored, write))
		bundle = ledger.AppendEntry(bundle, stored)
	}

	// Events lie in bundles beside the tiles of the tree. The checkpoint is written last.
	must(write(ledger.EntriesPath(0, 2), bundle))
	must(edge.Partial(0, write))
	signed, err := edge.Checkpoint(origin).Sign(signer)
	must(err)
	must(write(ledger.CheckpointPath, signed))
	return files, verifier
}

// Whoever has the files and the key can check the whole ledger. What was changed is named.
func ExampleVerify() {
	files, verifier := sealedLedger()
	report, err := ledger.Verify(files, verifier)
	fmt.Println(report.Events, "events of", report.Subjects, "subject", err)

	files[ledger.EntriesPath(0, 2)].Data[80] ^= 1
	_, err = ledger.Verify(files, verifier)
	var wrong *ledger.VerifyError
	if errors.As(err, &wrong) {
		fmt.Println("changed:", wrong.Path)
	}
	// Output:
	// 2 events of 1 subject <nil>
	// changed: tile/entries/000.p/2
}

// A ledger in files is opened by its key; what is read of it is proven against the signed root.
func ExampleOpenFiles() {
	files, verifier := sealedLedger()
	opened, err := ledger.OpenFiles(files, verifier)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = opened.Entries(0, func(index int64, stored []byte) bool {
		e, err := ledger.Decode(stored)
		fmt.Println(index, e.Type, e.Subject, err)
		return err == nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	proof, err := opened.Prove(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	event, covered, err := proof.Verify(verifier)
	fmt.Println("proven:", event.Type, "of", covered.Size, err)
	// Output:
	// 0 WorkAdded W-1 <nil>
	// 1 WorkDone W-1 <nil>
	// proven: WorkDone of 2 <nil>
}

// A checkpoint fits on one line, to be noted where the ledger's keeper can't change it. Later it
// shows whether the ledger still continues what was signed then.
func ExampleCheckpointLine() {
	files, verifier := sealedLedger()
	line, err := ledger.CheckpointLine(files[ledger.CheckpointPath].Data)
	if err != nil {
		fmt.Println(err)
		return
	}
	signed, err := ledger.ParseCheckpointLine(line)
	if err != nil {
		fmt.Println(err)
		return
	}
	noted, err := ledger.OpenCheckpoint(signed, verifier)
	if err != nil {
		fmt.Println(err)
		return
	}
	opened, err := ledger.OpenFiles(files, verifier)
	if err != nil {
		fmt.Println(err)
		return
	}
	root, err := opened.Root(noted.Size)
	fmt.Println(noted.Origin, noted.Size, "events, the same:", root == noted.Root, err)
	// Output: ledger.example/epoch/1 2 events, the same: true <nil>
}
