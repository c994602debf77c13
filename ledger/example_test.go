package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing/fstest"
	"time"

	"github.com/signalbox-dev/signalbox/ledger"
)

// A proof is made where the ledger is, and checked anywhere by its key alone.
func ExampleProof_Verify() {
	origin := ledger.Origin("ledger.example", 1)
	signer, verifier, err := ledger.NewKey(origin)
	if err != nil {
		fmt.Println(err)
		return
	}

	// Where the ledger is: an event is appended, and the tree is signed.
	stored, err := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: "W-1", ItemSeq: 1, Type: "WorkAdded", Actor: "alice",
		Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Payload: json.RawMessage(`{"title":"fix the parser"}`),
	}.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	var tree ledger.Tree
	if err := tree.Append(stored); err != nil {
		fmt.Println(err)
		return
	}
	checkpoint, err := tree.Checkpoint(origin)
	if err != nil {
		fmt.Println(err)
		return
	}
	signed, err := checkpoint.Sign(signer)
	if err != nil {
		fmt.Println(err)
		return
	}
	proof, err := tree.Prove(0, stored, signed)
	if err != nil {
		fmt.Println(err)
		return
	}

	// Anywhere: the proof and the verifier's key are enough.
	event, covered, err := proof.Verify(verifier)
	fmt.Println(event.Type, "by", event.Actor, "is one of", covered.Size, "events signed by", covered.Origin, err)
	proof.Event[60] ^= 1
	_, _, err = proof.Verify(verifier)
	fmt.Println("changed:", err != nil)
	// Output:
	// WorkAdded by alice is one of 1 events signed by ledger.example/epoch/1 <nil>
	// changed: true
}

// A ledger goes on from its edge: the tiles that are not full, proven against the
// signed root.
func ExampleReadEdge() {
	files := fstest.MapFS{} // a directory, for example
	write := func(path string, data []byte) error {
		files[path] = &fstest.MapFile{Data: data}
		return nil
	}
	var edge ledger.Edge
	for n := range 300 {
		if err := edge.Append(fmt.Append(nil, "event ", n), write); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := edge.Partial(0, write); err != nil {
		fmt.Println(err)
		return
	}
	checkpoint := edge.Checkpoint(ledger.Origin("ledger.example", 1)) // to be signed, and opened again

	again, err := ledger.ReadEdge(files, checkpoint)
	fmt.Println(again.Size(), again.Root() == edge.Root(), err)
	files[ledger.TilePath(0, 1, 44)].Data[0] ^= 1
	_, err = ledger.ReadEdge(files, checkpoint)
	fmt.Println("changed:", err != nil)
	// Output:
	// 300 true <nil>
	// changed: true
}
