package worktree

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	for _, m := range []struct{ name, file, before, after, test string }{
		{"what is malformed is taken", "exchange.go", `fmt.Sprintf("fetch.fsckObjects=%t", strict)`, `fmt.Sprintf("fetch.fsckObjects=%t", strict && false)`, "TestTakeMalformed"},
		{"damage is trouble of the box's", "exchange.go", "if strict {\n\t\t\treturn damaged(err)", "if !strict {\n\t\t\treturn damaged(err)", "TestTakeOverwritten"},
		{"objects that are named are not blamed", "exchange.go", "|(?:object|tree|read) '?[0-9a-f]{40}", "", "TestTakeDamaged"},
		{"whatever git says is damage", "exchange.go", "&& damage.MatchString(failed.Stderr)", "&& damage != nil", "TestTakeTrouble"},
		{"git that was killed has found damage", "exchange.go", "if e.Exit < 0 {", "if false {", "TestTakeTrouble"},
		{"a part of git that was killed has found damage", "exchange.go", `, "died of signal",`, ",", "TestTakeTrouble"},
		{"a worktree that is being made fails whoever makes room", "exchange.go", "(bad|unable to parse) object:? worktrees/", "bad object worktrees/", "TestForgetBesideAdd"},
		{"what is being removed is a worktree", "add.go", "if err == nil && isUnfinished(at.gitDir) {", "if false && isUnfinished(at.gitDir) {", "TestFind"},
		{"a commit is not kept for its run", "exchange.go", "return x.fetch(ctx, commit, true, kept(run)+commit)", "return x.fetch(ctx, commit, true, kept(\"R0\")+commit)", "TestForget"},
		{"a merge moves its branch out of turn", "merge.go", "release, err := x.shared.take(ctx)\n", "release, err := make(turn, 1).take(ctx)\n", "TestMergeInTurn"},
		{"the agent's index is believed", "own.go", "filepath.Join(r.common, ownDirs, filepath.Base(at.gitDir))}", "at.gitDir}", "TestNothingIsRead|TestSettleBelievesFiles"},
		{"a link of the user's is removed", "disarm.go", `len(d.Name()) == 2 && strings.Trim(d.Name(), "0123456789abcdef") == ""`, "true", "TestLinkedObjects"},
		{"a link for loose objects stays", "disarm.go", "len(d.Name()) == 2 &&", "len(d.Name()) == 3 &&", "TestLinkedObjects"},
		{"broken refs stay", "refs.go", "return errors.Join(r.sweep(refs, sound), r.sweep(logs, sound))", "return errors.Join(nil, r.sweep(logs, sound))", "TestLeftRefs"},
		{"a ref of what is missing stays", "refs.go", "sound[name] = there[commit]", "sound[name] = commit != \"\"", "TestLeftRefs"},
		{"a ref that is not whole stays", "refs.go", "whole = err == nil", "whole = true", "TestLeftRefs"},
		{"the agent keeps its index", "tree.go", "errors.Join(quit(at), r.show(at))", "quit(at)", "TestSettleBelievesFiles"},
		{"a merge loses its parents", "tree.go", "if len(merging) > 0 {\n\t\tif err := renew", "if len(merging) > 9 {\n\t\tif err := renew", "TestSettleSolvedMerge"},
		{"a merge with conflicts is finished", "own.go", "flags&0x3000 != 0", "flags&0x8000 != 0", "TestUnsolved|TestSettleUndoesMerge"},
		{"what a merge brought stays", "abort.go", "} else if err := root.Remove(filepath.FromSlash(name)); err", "} else if err := error(nil); err", "TestSettleUndoesMerge"},
		{"what is left out is deleted", "add.go", `remove(at, "info/sparse-checkout")`, `remove(at, "info/sparse")`, "TestSparseCheckout"},
		{"every file is read", "add.go", "if err := r.keep(at); err != nil {", "if err := r.keep(at); err != nil || os.RemoveAll(r.apart(at).gitDir) != nil {", "TestOwnIndexKeepsTimes"},
		{"every worktree is another repository's", "add.go", "if unread != nil || !same(filepath.Dir(path), dir) {", "if unread != nil {", "TestDisown"},
		{"what another repository has is removed", "add.go", "if _, other := r.link(path); other == nil {", "if true {", "TestDisown"},
		{"what is not there any more is not forgotten", "add.go", "removeAll(r.apart(place{gitDir: gitDir}).gitDir), removeAll(gitDir))", "nil)", "TestDisown"},
		{"what a box that was killed was about to bring stays", "exchange.go", "if err := x.clearOutgoing(); err != nil {", "if err := error(nil); err != nil {", "TestOutgoing"},
		{"hooks run for reviewers", "exchange.go", `[core]\n\thooksPath = /dev/null\n`, `[core]\n`, "TestExchangeRunsNothing"},
		{"a merge from elsewhere is made", "merge.go", `if m.Base != "" {`, `if false {`, "TestMergeFromBase"},
		{"a history that crosses is merged", "history.go", "slices.Equal(bases, []string{m.Base})", "bases[0] == m.Base || true", "TestMergeFromBase"},
		{"whatever was brought along counts as merged", "history.go", `if err == nil && found == "" {`, `if false {`, "TestMergeOnBranch"},
		{"another merge counts as the one that was allowed", "history.go", `if strings.Join(words[1:], " ") == want {`, `if want != "" {`, "TestMergeOnBranch"},
		{"others' work is taken", "history.go", "if err == nil && len(whose) > 0 {", "if false {", "TestBegins"},
		{"work begins inside of other work", "history.go", "if !passed {", "if false {", "TestBegins"},
		{"work begins in two places", "history.go", "if len(bases) > 1 {", "if false {", "TestBegins"},
		{"what has too much in it is taken", "size.go", "if err == nil && !has.within(most) {", "if false {", "TestCheckSize"},
		{"what was there before counts against a change", "size.go", "most.entries+before.entries", "most.entries", "TestCheckSize"},
		{"bytes are not counted", "size.go", "has.bytes += size", "has.bytes = size", "TestCheckSize"},
		{"a file monitor runs for reviewers", "exchange.go", `\tfsmonitor = false\n`, ``, "TestExchangeRunsNothing"},
		{"a worktree names its refs' repository", "disarm.go", `remove(at, "MERGE_AUTOSTASH"), ownCommon(at))`, `remove(at, "MERGE_AUTOSTASH"))`, "TestForeignRefs"},
		{"what was judged lies loose", "give.go", `for _, end := range []string{".pack", ".idx"} {`, `for _, end := range []string{".pack"} {`, "TestMergeOfOverwritten"},
		{"what a run starts from lies loose", "give.go", "if err != nil || len(loose) == 0 {", "if true {", "TestGuard"},
		{"a forged link is believed", "restore.go", "renew(filepath.Join(path, \".git\"), \"gitdir: \"+at.gitDir+\"\\n\"),", "", "TestRestore"},
		{"attributes that are left decide", "restore.go", "stray, err = r.removeAttributes(ctx, at)", "_ = r.removeAttributes", "TestRestore"},
		{"what was built looks old", "restore.go", "if err != nil || same {", "if remove(at, \"index\"); err != nil || same {", "TestRestore"},
		{"git tells what is concealed", "conceal.go", "if len(known) > 0 {", "if false {", "TestConceal"},
		{"what is concealed stays", "conceal.go", "if err := removeAll(file); err != nil {", "if err != nil {", "TestConceal"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
