package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/service"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// recordSome runs a box for a while and returns its directory.
func recordSome(t *testing.T, outputs ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "box")
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir), ExitEnabled: true})
	if err != nil {
		t.Fatal(err)
	}
	for n, output := range outputs {
		id := fmt.Sprint("T-", n)
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: id, Title: "a title", Phase: agentsig.PhaseImplementation}, ""); err != nil {
			t.Fatal(err)
		}
		g, err := b.Claim(t.Context(), api.Claim{Work: id, Actor: "ann"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if e, err := b.Emit(g.Session, []byte(output), ""); err != nil || !e.Accepted {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func exitRecord(notes string) string {
	data, err := agentsig.NewExitSignal(agentsig.PhaseImplementation, agentsig.ExitCompleted).WithNotes(notes).JSON()
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

var edits = flag.Int("edits", 300, "how many one-byte edits TestVerifyFindsEdits makes; 1000 for the full measure")

// verify finds each of many one-byte edits of a copied archive, with no box.
func TestVerifyFindsEdits(t *testing.T) {
	t.Parallel()
	var outputs []string
	for n := range 100 {
		outputs = append(outputs, strings.Repeat("word ", n*20)+"\n"+exitRecord(fmt.Sprint("done ", n)))
	}
	dir := recordSome(t, outputs...)
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(dir, "archive"))); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "verifier.key")
	verify := func() (int, string) {
		code, out, errOut := run(t, command.Env{}, "ledger", "verify", "--archive", copied, "--key", key)
		return code, out + errOut
	}
	if code, out := verify(); code != 0 {
		t.Fatalf("the copy does not verify: %s", out)
	}
	var files []string
	err := fs.WalkDir(os.DirFS(copied), ".", func(path string, d fs.DirEntry, err error) error {
		if info, statErr := d.Info(); err == nil && statErr == nil && !d.IsDir() && info.Size() > 0 {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	kinds := map[string]int{}
	n := *edits
	if testing.Short() {
		n = min(n, 50)
	}
	for range n {
		name := files[r.IntN(len(files))]
		path := filepath.Join(copied, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at, by := r.IntN(len(data)), byte(1+r.IntN(255))
		data[at] ^= by
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _ := verify(); code == 0 {
			t.Errorf("byte %d of %s, changed by %#x: not noticed", at, name, by)
		}
		data[at] ^= by
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(name, "/")
		kinds[kind]++
	}
	if code, out := verify(); code != 0 {
		t.Fatalf("the copy does not verify any more: %s", out)
	}
	t.Logf("edits: %v", kinds)
}

// A program that knows nothing but the package ledger checks a proof.
func TestCheckProofExample(t *testing.T) {
	dir := recordSome(t, exitRecord("done"))
	code, proof, errOut := run(t, command.Env{}, "ledger", "prove", "3", "--dir", dir)
	if code != 0 {
		t.Fatal(errOut)
	}
	file := filepath.Join(t.TempDir(), "proof.json")
	key, err := box.Dir(dir).Verifier()
	if err != nil {
		t.Fatal(err)
	}
	check := func(proof string) (string, error) {
		if err := os.WriteFile(file, []byte(proof), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "go", "run", "../../examples/checkproof", file, key).CombinedOutput()
		return string(out), err
	}
	if out, err := check(proof); err != nil || !strings.Contains(out, `proven: "AgentSessionCompleted" by "ann", one of 3 events signed by signalbox/`) {
		t.Errorf("%v: %s", err, out)
	}
	var p map[string]any
	if err := json.Unmarshal([]byte(proof), &p); err != nil {
		t.Fatal(err)
	}
	p["index"] = 1
	other, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := check(string(other)); err == nil || !strings.Contains(out, "not proven") {
		t.Errorf("a proof for another place holds: %s", out)
	}
}

// What show prints is held against the ledger's files: if they have something else, it says so and fails.
func TestShowHoldsAgainstTheLedger(t *testing.T) {
	t.Parallel()
	dir := recordSome(t, exitRecord("done"))
	code, out, errOut := run(t, command.Env{}, "show", "T-0", "--dir", dir)
	if code != 0 || !strings.Contains(out, "\nproof     3 events, all in the signed ledger\n") {
		t.Fatalf("exit %d: %s%s", code, out, errOut)
	}
	bundle := filepath.Join(dir, "archive", "tile", "entries", "000.p", "3")
	data, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bundle, bytes.Replace(data, []byte("done"), []byte("gone"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut = run(t, command.Env{}, "show", "T-0", "--dir", dir)
	if code != 1 || !strings.Contains(out, "\nproof     WRONG: 1 of 3 events can't be proven") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}

// A checkpoint is held against hashes, and no event is read: what is said of it leaves them to verify.
func TestCheckpointProvesNoFiles(t *testing.T) {
	dir := recordSome(t, exitRecord("done"))
	bundle := filepath.Join(dir, "archive", "tile", "entries", "000.p", "3")
	data, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(bundle, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := run(t, command.Env{}, "ledger", "verify", "--dir", dir); code == 0 {
		t.Fatalf("an event was changed, and verify says %s", out)
	}
	checkpoint := filepath.Join(dir, "archive", "checkpoint")
	code, out, errOut := run(t, command.Env{}, "ledger", "check", checkpoint, "--dir", dir, "--json")
	var said struct {
		OK        bool
		NotProven []string `json:"not_proven"`
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		t.Fatal(err, errOut)
	}
	if code != 0 || !said.OK || len(said.NotProven) == 0 || !strings.Contains(said.NotProven[0], "ledger verify reads the events") {
		t.Errorf("exit %d: %s", code, out)
	}
	_, out, _ = run(t, command.Env{}, "ledger", "check", checkpoint, "--dir", dir)
	for _, what := range said.NotProven {
		if !strings.Contains(out, "\n- "+what+"\n") {
			t.Errorf("the text does not say that this is not proven: %s\n%s", what, out)
		}
	}
}

// Secrets that an agent prints reach no file under the directory, whatever form
// they have in its output.
func TestSecretsAreNotStored(t *testing.T) {
	secrets := []string{
		"ghp_" + strings.Repeat("a1B2", 9),
		"AKIA" + "IOSFODNN7EXAMPLE",
		"sk-ant-api03-" + strings.Repeat("Zx9_", 23) + "AA",
		"eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + strings.Repeat("dBjftJeZ", 5),
		"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + strings.Repeat("Qb7k", 10),
		"xoxb-" + "123456789012-123456789012-" + strings.Repeat("aB3d", 6),
	}
	pem := "-----BEGIN PRIVATE KEY-----\n" + secrets[4] + "\n-----END PRIVATE KEY-----"
	all := strings.Join(append(secrets[:4:4], pem, secrets[5]), " and ")
	escaped := strings.Replace(exitRecord("token "+secrets[0]), secrets[0], `\u0067`+secrets[0][1:], 1)
	dir := recordSome(t,
		exitRecord(all),
		all+"\nREADY_FOR_REVIEW: T-1 with "+secrets[0]+"\nSummary: "+secrets[1]+"\n",
		strings.Repeat("much was said\n", 1000)+all+"\n"+exitRecord(all), // kept as a blob
		escaped,
	)
	found := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, s := range secrets {
			if bytes.Contains(data, []byte(s)) {
				t.Errorf("%s contains the secret %.12s…", path, s)
			}
		}
		found += bytes.Count(data, []byte("[redacted:"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("%d redactions in the files: the secrets were not there to begin with", found)
	}
}

// What an agent says acts on no terminal, through whichever command it comes.
func TestBoxOutputIsInert(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\x1b]0;owned\x07 \u202etxet \u009b31m\r\nforged: line"
	dir := recordSome(t, exitRecord(evil))
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir), ExitEnabled: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "E-1", Title: evil, Phase: agentsig.PhaseReview}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Override(work.OperatorActor, "E-1", api.Override{Phase: agentsig.PhaseDraft, Reason: evil}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Ask(t.Context(), work.OperatorActor, api.Ask{Question: evil, Class: evil, Provider: evil, Model: evil}, ""); err != nil {
		t.Fatal(err)
	}
	signal := api.Signalled{Turn: 1, Type: agentsig.KindNeedTurn, At: time.Unix(0, 0), Fields: []work.Field{{Name: "reason", Value: evil}}, RawXML: evil}
	if _, err := b.Signalled("Q-00001", signal, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Answered("Q-00001", api.Answered{Outcome: conversation.OutcomePartial, Missing: evil}, ""); err != nil {
		t.Fatal(err)
	}
	listener, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- httpapi.New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Serve(ctx, listener)
	}()
	for _, args := range [][]string{
		{"work", "list"}, {"work", "show", "E-1"}, {"events"}, {"events", "--work", "Q-00001"}, {"events", "--json"}, {"work", "list", "--json"},
		{"work", "show", evil}, {"claim", "--work", evil}, {"claim", "--actor", evil}, {"emit", "--session", evil}, {"ledger", "verify", "--archive", evil},
	} {
		_, out, errOut := run(t, command.Env{In: strings.NewReader(evil)}, append(args, "--dir", dir)...)
		if out+errOut == "" {
			t.Errorf("%q says nothing", args)
		}
		for _, r := range out + errOut {
			if r != '\n' && r != '\t' && safetext.Escape(string(r)) != string(r) {
				t.Errorf("%q prints %q", args, r)
			}
		}
		if strings.Contains(out+errOut, "\nforged") {
			t.Errorf("%q prints a forged line", args)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// Events on a conversation are shown in words, by its name, and can be proven like any.
func TestConversationInWords(t *testing.T) {
	dir := recordSome(t, exitRecord("done"))
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Ask(t.Context(), work.OperatorActor, api.Ask{Question: "where is the parser?"}, "")
	if err != nil {
		t.Fatal(err)
	}
	signal := api.Signalled{Turn: 1, Type: agentsig.KindNeedTurn, Confidence: 0.8, At: time.Unix(0, 0), Fields: []work.Field{{Name: "reason", Value: "to read it"}}}
	if _, err := b.Signalled(c.ID, signal, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Answered(c.ID, api.Answered{Outcome: conversation.OutcomeAnswered, Turns: 2}, ""); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, out, errOut := run(t, command.Env{}, "events", "--work", "Q-00001", "--dir", dir)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	want := []string{"Q-00001: asked: where is the parser?", "Q-00001: signalled need_turn (0.8): to read it", "Q-00001: answered after 2 turns"}
	if len(lines) != len(want) {
		t.Fatalf("%s%s", out, errOut)
	}
	for n, line := range lines {
		if !strings.HasSuffix(line, "  "+want[n]) || !strings.Contains(line, "  Q-00001  ") {
			t.Errorf("%s\nwant …  %s", line, want[n])
		}
	}
	_, proof, errOut := run(t, command.Env{}, "ledger", "prove", "5", "--dir", dir)
	_, out, _ = run(t, command.Env{In: strings.NewReader(proof)}, "ledger", "check", "-", "--dir", dir)
	if !strings.Contains(out, "signalled need_turn (0.8): to read it") {
		t.Errorf("%s%s", out, errOut)
	}
}

// An output that was removed is said to be removed, and why; nothing else is different for it.
func TestRemovedInWords(t *testing.T) {
	t.Parallel()
	dir := recordSome(t, exitRecord("short"), strings.Repeat("a long story\n", 1000)+exitRecord("long"))
	signer, err := os.ReadFile(filepath.Join(dir, "signer.key"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := archivetest.RemoveBlobs(t.Context(), archive.Dir(filepath.Join(dir, "archive")), strings.TrimSpace(string(signer))); err != nil || n != 1 {
		t.Fatalf("%d removed: %v", n, err)
	}
	export := filepath.Join(t.TempDir(), "export")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"events"}, "BlobRemoved  box: 1 output was removed: older than 90 days (the setting archive.keep); "},
		{[]string{"ledger", "verify"}, "note: 1 blob was removed on purpose, as events of the type BlobRemoved say; the hashes stay"},
		{[]string{"ledger", "verify", "--json"}, `"removed":1`},
		{[]string{"ledger", "export", export}, "exported to"},
		{[]string{"ledger", "prove", "7"}, `"hashes"`},
		{[]string{"work", "show", "T-1"}, "T-1"},
		{[]string{"work", "list"}, "T-1"},
		{[]string{"ledger", "repair"}, "nothing"},
	} {
		code, out, errOut := run(t, command.Env{}, append(c.args, "--dir", dir)...)
		if code != 0 || !strings.Contains(strings.ReplaceAll(out, `": `, `":`), c.says) {
			t.Errorf("%q: %d: %s%s", c.args, code, out, errOut)
		}
	}
}

// A box of a cluster is not repaired: that would make a single box's log of what the others go on with.
func TestRepairInCluster(t *testing.T) {
	dir := recordSome(t)
	if _, err := service.InitCluster(t.Context(), box.Options{Dir: box.Dir(dir)}, "a", []string{"127.0.0.1:7443"}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "archive", "log")); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, command.Env{}, "ledger", "repair", "--dir", dir)
	if code == 0 || !strings.Contains(errOut, "cluster rejoin") {
		t.Errorf("%d: %s%s", code, out, errOut)
	}
}

// Of a damaged archive of a box in a cluster, verify says what mends it there.
func TestVerifyInCluster(t *testing.T) {
	for name, damage := range map[string]string{"its log": "archive/log/member-*.log", "a bundle": "archive/tile/entries/000.p/*"} {
		dir := recordSome(t, exitRecord("done"))
		if _, err := service.InitCluster(t.Context(), box.Options{Dir: box.Dir(dir)}, "a", []string{"127.0.0.1:7443"}); err != nil {
			t.Fatal(err)
		}
		if code, out, errOut := run(t, command.Env{}, "ledger", "verify", "--dir", dir); code != 0 || strings.Contains(out, "ledger repair") {
			t.Errorf("whole: %d: %s%s", code, out, errOut)
		}
		files, err := filepath.Glob(filepath.Join(dir, damage))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %q, %v", name, files, err)
		}
		data, err := os.ReadFile(files[0])
		if err == nil {
			data[len(data)/2] ^= 1
			err = os.WriteFile(files[0], data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		code, out, errOut := run(t, command.Env{}, "ledger", "verify", "--dir", dir)
		if code == 0 || !strings.Contains(errOut, "`signalbox cluster rejoin`") || strings.Contains(errOut, "ledger repair") {
			t.Errorf("%s: %d: %s%s", name, code, out, errOut)
		}
	}
}
