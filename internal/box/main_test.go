package box_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// What the client in a process of its own is told by its parent.
const (
	clientAddress = "SIGNALBOX_TEST_CLIENT_ADDRESS"
	clientToken   = "SIGNALBOX_TEST_CLIENT_TOKEN"
	clientItem    = "SIGNALBOX_TEST_CLIENT_ITEM"
)

// TestMain runs the tests and finds what they leave running; or, in a process
// that TestStoppedClients started, it is that client.
func TestMain(m *testing.M) {
	if os.Getenv(clientAddress) == "" {
		flag.Parse()
		if err := flag.Set("test.parallel", "8"); err != nil { // they wait for the disk, and for leases to run out
			panic(err)
		}
		goleak.VerifyTestMain(m)
		return
	}
	if err := runClient(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runClient claims an item for a second and says its session. Once it is given a
// line it hands in its result, and says what it was answered.
func runClient(ctx context.Context, in io.Reader, out io.Writer) error {
	client := api.NewClient(os.Getenv(clientAddress), os.Getenv(clientToken))
	defer client.Close()
	g, err := client.Claim(ctx, api.Claim{Work: os.Getenv(clientItem), Actor: "paused", TTLMS: 1000})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, g.Session)
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return err
	}
	e, err := client.Emit(ctx, g.Session, []byte(lateOutput()))
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(e)
}

const lateNotes = "all tests pass"

func lateOutput() string {
	data, err := agentsig.NewExitSignal(agentsig.PhaseImplementation, agentsig.ExitCompleted).WithNotes(lateNotes).JSON()
	return "I am done.\n" + must(data, err) + "\n"
}
