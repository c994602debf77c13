package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of a box that shares its ledger, dropped, is noticed by the test beside it.
func TestClusterMutants(t *testing.T) {
	const leases, majority, shaken, level, signs, first, join, dirs, alone, aside, removes = "TestClusterLeases$", "TestClusterNoMajority$", "TestClusterShaken$", "TestClusterLevel$",
		"TestSignNothing$", "TestInitCluster$", "TestJoinClusterAgain$", "TestMembersDirectory$", "TestLeaveAlone$", "TestSetAside$", "TestClusterRemovesOutputs$"
	var all []mutant.Noticed
	for _, m := range []struct{ by, name, file, before, after string }{
		{leases, "a box runs terms that it does not lead in", "box.go", "if o.Cluster == nil {\n\t\tb.state.start", "if true {\n\t\tb.state.start"},
		{leases, "a box that yields runs terms on", "state.go", "\ts.now = nil\n\ts.endTerms()", "\ts.endTerms()"},
		{leases, "a box that leads runs no terms", "cluster.go", "\tb.state.start(b.now, b.expireSoon)\n\tb.leads", "\tb.leads"},
		{"TestLeaseOfTermBefore$", "what was to end a lease's term before takes away the next one", "state.go", "return t != nil && t.token == token && t.over", "return t != nil && t.token == token"},
		{"TestWitnessAheadOfLeader$", "who leads may have less than was signed", "trailers.go", "\t\tif signed.Size > latest.Size {\n\t\t\treturn", "\t\tif false {\n\t\t\treturn"},
		{majority, "nobody's patience ends", "cluster.go", "return context.WithTimeout(b.group.Context(), appendPatience)", "return context.WithTimeout(b.group.Context(), 100*appendPatience)"},
		{shaken, "who does not lead any more stops", "ledger.go", "if l.box.shared != nil && shaken(err) {", "if l.box.shared == nil && shaken(err) {"},
		{shaken, "whatever breaks shakes", "ledger.go", "if l.box.shared != nil && shaken(err) {", "if l.box.shared != nil {"},
		{"TestClusterSnapshot$", "a snapshot has no boxes", "snapshot.go", "Members: s.members, ", ""},
		{level, "any program folds any level", "record.go", "if err := b.checkLevel(); err != nil {", "if err := b.checkLevel(); err != nil && false {"},
		{level, "any program starts on any level", "box.go", "if err := b.checkLevel(); err != nil {", "if err := b.checkLevel(); err != nil && false {"},
		{signs, "all is signed", "latest.go", "if why := b.signsNothing(); why != \"\" {", "if why := b.signsNothing(); false {"},
		{signs, "what signs nothing can't stop", "snapshot.go", "\tif b.signsNothing() != \"\" {\n\t\treturn nil\n\t}\n", "\tif b.signsNothing() != \"\" {\n\t\treturn errUnsigned\n\t}\n"},
		{first, "a first box that was cut off is none", "cluster.go", "errors.Is(err, access.ErrMember) {", "errors.Is(err, access.ErrNoCluster) {"},
		{join, "the key of another ledger is written over", "cluster.go", "err == nil && had != secrets.Signer {", "err == nil && had == \"\" {"},
		{dirs, "one member is another", "cluster.go", "if id := j.ID(); id != c.ID {", "if id := j.ID(); id == 0 {"},
		{alone, "a box leaves others alone", "cluster.go", "if len(b.Members().All) > 1 {", "if len(b.Members().All) > 9 {"},
		{alone, "a box that leaves stays a member", "cluster.go", "b.last = func() error { return b.archive.Leave(end) }", "b.last = func() error { _ = end; return nil }"},
		{aside, "an old ledger's index stays", "cluster.go", "latestFile, scrubFile, indexDir} {", "latestFile, scrubFile} {"},
		{aside, "the log stays", "cluster.go", "range []string{o.Archive, o.Segments} {", "range []string{o.Archive} {"},
		{aside, "agents see an old ledger", "places.go", "range append(old, place) {", "range append(old[:0], place) {"},
		{removes, "only who leads removes", "cluster.go", "|| b.leads.Load() {", "|| true {"},
	} {
		all = append(all, mutant.Noticed{By: m.by, Mutant: mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}})
	}
	mutant.All(t, all)
}
