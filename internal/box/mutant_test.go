package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestBoxMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	const linearizable = "TestLinearizable/briefly"
	for _, m := range []struct {
		name, file, before, after, test string
	}{
		{"the compare-and-set is skipped", "../archive/writer.go",
			"if last != r.last {", "if false && last != r.last {", linearizable},
		{"the request's key is not looked for", "record.go",
			`if key == "" {`, `if true {`, linearizable},
		{"what the archive did not take is acknowledged", "../archive/writer.go",
			"err = l.store(records)", "_ = l.store(records)", "TestArchiveFails"},
		{"an event names another as the one before it", "record.go",
			"Prev: tip.Sum,", "Prev: map[bool]ledger.Hash{false: {1}}[tip.ItemSeq == 0],", "TestClaimIsRepeated"},
		{"who recorded an event is shown a later one", "record.go",
			"folded.InLedger().Seq == seq {", "folded.InLedger().Seq >= seq {", "TestAnswerIsOfOwnEvent"},
		{"an event has another's place", "record.go",
			"ItemSeq: tip.ItemSeq + 1,", "ItemSeq: 2*tip.ItemSeq + 1,", "TestClaimIsRepeated|TestRenewedLease"},
		{"a renewed lease runs out all the same", "state.go",
			"\ts.begin(i)\n\treturn", "\treturn", "TestRenewedLease"},
		{"leases are forgotten at a restart", "state.go",
			"if i.Lease != nil {\n\t\t\ts.begin(i)", "if false {\n\t\t\ts.begin(i)", "TestLeaseAfterRestart"},
		{"who holds what by which key is forgotten", "state.go",
			"s.grants[l.Key] = after.Subject\n", "", "TestClaimIsRepeated"},
		{"a caller who went away keeps the lease", "requests.go",
			"case err == nil && ctx.Err() != nil:", "case false:", "TestClaimantGoes"},
		{"what was not granted is not offered again", "requests.go",
			"b.state.giveBack(subject)\n\t\tif", "if", "TestGrantFails"},
		{"a lease that is over is handed out", "record.go",
			"!slices.Contains(types, e.Type) || o.over != nil && o.over(now, e):", "!slices.Contains(types, e.Type):", "TestClaimIsRepeated"},
		{"a named item is had only if nobody else tries it", "requests.go",
			"case w.subject != \"\" && !wait:", "case false:", "TestClaimByName"},
		{"a lease that can't be taken away at once stays", "requests.go",
			"b.logger.Warn(\"a lease can't", "if true {\n\t\t\treturn\n\t\t}\n\t\tb.logger.Warn(\"a lease can't", "TestExpiryOnBusyEngine"},
		{"the gate's token is not asked for", "http.go",
			"if gate {", "if false {", "TestGateToken"},
		{"a question keeps its secrets", "conversations.go",
			"Question: b.redact.Text(a.Question)", "Question: a.Question", "TestConversationSecrets"},
		{"a model's words keep their secrets", "conversations.go",
			"b.redact.Bytes([]byte(s.RawXML))", "[]byte(s.RawXML)", "TestConversationSecrets"},
		{"a list keeps its secrets", "conversations.go",
			"return texts\n", "return v\n", "TestConversationSecrets"},
		{"a signal that came before the end is late", "conversations.go",
			"conversation.Signal{}.Events()); ok || err != nil {", "conversation.Signal{}.Events()); ok && false || err != nil {", "TestConversationIsRepeated"},
		{"what is refused is stored", "conversations.go",
			"conversation.Ask{Asked: asked}); err != nil {", "conversation.Ask{Asked: asked}); err != nil && false {", "TestConversationRefusals"},
		{"a snapshot has no conversations", "snapshot.go",
			"for i := range snap.Conversations {", "for i := range snap.Conversations[:0] {", "TestConversationAfterRestart"},
		{"a snapshot of an older form is believed", "snapshot.go",
			"const snapshotFormat = 9", "const snapshotFormat = 2", "TestOlderSnapshot"},
		{"the name of what left can be had again", "state.go",
			"return subject != \"\", err\n", "return subject != \"\" && false, err\n", "TestOlderSnapshotThanIndex"},
		{"the key of what left is forgotten", "state.go",
			"subject != \"\" || s.past == nil || key == \"\" {", "true {", "TestWhatLeftIsFound/seed_0"},
		{"what left has no last event", "state.go",
			"return r.Last(), nil", "return r.Last() * 0, nil", "TestOlderSnapshotThanIndex"},
		{"what leaves is not in the index", "past.go",
			"if len(add) > 0 {", "if false {", "TestOlderSnapshotThanIndex"},
		{"what leaves with a run is not in the index", "past.go",
			"append(subjectsOf(r), subject)...", "subject", "TestRunLeaves"},
		{"a snapshot is used without its index", "snapshot.go",
			"if snap.Index > covered || s.restore", "if s.restore", "TestIndexLost"},
		{"what left comes back as it is now", "past.go",
			"r.Seqs[:end]...", "r.Seqs[:max(end, len(r.Seqs))]...", "TestOlderSnapshotThanIndex"},
		{"a damaged index stays", "past.go",
			"err = errors.Join(err, b.held.forgetIndex())", "err = errors.Join(err)", "TestIndexDamaged"},
		{"what can't be found is not there", "past.go",
			"if err != nil {\n\t\treturn \"\", p.trouble(err)\n\t}\n\treturn subject, nil", "if err != nil {\n\t\treturn \"\", nil\n\t}\n\treturn subject, nil", "TestIndexDamaged"},
		{"what the index has stays in memory", "past.go",
			"if fresh || len(unknown) == 0 {", "if fresh {", "TestLeaveAgain"},
		{"what happens meanwhile does not keep a subject here", "past.go",
			"return t == nil || len(t.Seqs) != len(r.Seqs)", "return t == nil", "TestLeaveMeanwhile"},
		{"a rolled back ledger starts", "trailers.go",
			"if broken != nil {", "if false {", "TestWitness"},
		{"a proof waits for the timer", "trailers.go",
			"if _, err := b.seal(); err != nil {", "if b.archive.Checkpoint() == nil {\n\t\tvar err error", "TestProveAtOnce"},
		{"a role outside of the sandbox is not told of", "protect.go",
			"if set.Sandbox == sandbox.None {", "if false {", "TestUnprotected"},
		{"checks outside of the sandbox are not told of", "protect.go",
			"&& c.Sandbox.Checks != config.Off", "", "TestUnprotected"},
		{"agents' branches are believed", "trailers.go",
			"allTaskBranches, func", "\"none\", func", "TestWitness"},
		{"a box does not look whether its directory is still its own", "../archive/store.go",
			"if err := s.Stands(); err != nil {", "if err := s.Stands(); err != nil && false {", "TestDirectoryReplaced|TestSealAfterReplaced"},
		{"another directory in the same place is taken for its own", "../filelock/dir.go",
			"if err != nil || !os.SameFile(at, own) {", "if err != nil || !os.SameFile(at, at) || own == nil {", "TestDirectoryReplaced"},
		{"the archive elsewhere is not looked at", "places.go",
			"return d.Stands()", "return nil", "TestDirectoryReplaced"},
		{"the lock's file is all that keeps others out", "../filelock/dir.go",
			"if d.locked, err = lockDir(d.self); err != nil {", "if false {", "TestLockRemoved"},
		{"the address of another box is removed", "box.go",
			"b.held.home.Remove(addressFile)", "os.Remove(b.dir.path(addressFile))", "TestSealAfterReplaced"},
		{"an event of a newer version is damage of the snapshot", "box.go",
			"&& !errors.As(err, &newer) {", "&& (newer == nil || true) {", "TestNewerEvent"},
		{"an event of a newer version is like any that can't be folded", "state.go",
			"if !knownTypes[e.Type] {", "if false {", "TestNewerEvent"},
		{"what a dead session reports and the box refuses is tried again", "http.go",
			"_, p := problemOf(err)\n\treturn &p", "return err", "TestRefusedForGood"},
		{"what follows a request is not looked at", "http.go",
			"err = errTrailing", "return v, nil", "TestBodies"},
		{"a member that a session alone knows is refused", "http.go",
			"return document[T](json.NewDecoder(http.MaxBytesReader(nil, r.Body, most)))", "return decode[T](r, most)", "TestBodies"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
