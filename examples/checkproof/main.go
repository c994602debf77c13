// Command checkproof checks a proof with the verifier's key and the package ledger.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/signalbox-dev/signalbox/ledger"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: checkproof PROOF-FILE VERIFIER-KEY")
	}
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var proof ledger.Proof
	if err := json.Unmarshal(data, &proof); err != nil {
		log.Fatal(err)
	}
	event, checkpoint, err := proof.Verify(os.Args[2])
	if err != nil {
		log.Fatal("not proven: ", err)
	}
	fmt.Printf("proven: %q by %q, one of %d events signed by %s\n", event.Type, event.Actor, checkpoint.Size, checkpoint.Origin)
}
