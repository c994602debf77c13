package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ownRepo is a repository that a test may change as a user does, and its exchange.
func ownRepo(t *testing.T) (*Repo, *Exchange) {
	t.Helper()
	root := filepath.Join(t.TempDir(), odd)
	must(t, os.CopyFS(root, os.DirFS(template(t))))
	repo, err := Open(t.Context(), root)
	must(t, err)
	exchange, err := OpenExchange(t.Context(), repo, filepath.Join(root, ".signalbox", "exchange.git"))
	must(t, err)
	return repo, exchange
}

// A branch is what lies below refs/heads by just this name; git itself would take other refs for it.
func TestTip(t *testing.T) {
	t.Parallel()
	repo, _ := ownRepo(t)
	root := repo.Root()
	commit := git(t, root, "rev-parse", "HEAD")
	git(t, root, "branch", "work")
	git(t, root, "tag", "refs/heads/tagged", commit)
	git(t, root, "update-ref", "refs/remotes/refs/heads/far", commit)
	for range 2 {
		at, err := repo.Tip(t.Context(), "work")
		if must(t, err); at != commit {
			t.Errorf("the branch is at %s; want %s", at, commit)
		}
		for _, name := range []string{"tagged", "far", "none", "work/more", "wor", "../work", "work^{commit}", "--all"} {
			_, err := repo.Tip(t.Context(), name)
			is(t, err, ErrUnknown)
		}
		git(t, root, "pack-refs", "--all")
	}
}

// What somebody made for work in no run comes in whole or not at all; what the user's checkout is at may be as it is. It
// stays until it is dropped, and nothing of runs goes with it.
func TestTakeByHand(t *testing.T) {
	t.Parallel()
	repo, exchange := ownRepo(t)
	root := repo.Root()
	base := git(t, root, "rev-parse", "HEAD")
	raw := filepath.Join(t.TempDir(), "commit")
	malformed := func(parent string) string {
		who := "A <a@example.org> 1 +0000"
		must(t, os.WriteFile(raw, []byte("tree "+git(t, root, "rev-parse", parent+"^{tree}")+"\nparent "+parent+"\nauthor "+who+"\ncommitter "+strings.Replace(who, "<", "", 1)+"\n\nx\n"), 0o600))
		return git(t, root, "hash-object", "-t", "commit", "--literally", "-w", raw)
	}
	is(t, exchange.TakeByHand(t.Context(), malformed(base)), ErrObjects)
	git(t, root, "update-ref", "HEAD", malformed(base))
	git(t, root, "commit", "-q", "--allow-empty", "-m", "after what is old")
	commit := git(t, root, "rev-parse", "HEAD")
	git(t, root, "reset", "-q", "--soft", "HEAD~1")
	must(t, exchange.TakeByHand(t.Context(), commit))
	must(t, exchange.Take(t.Context(), base, "R1"))
	must(t, exchange.ForgetByHand(t.Context()))
	if got := git(t, exchange.common, "for-each-ref", "--format=%(refname)", "refs/signalbox/by-hand/", "refs/signalbox/R1/"); got != "refs/signalbox/R1/"+base {
		t.Errorf("kept:\n%s", got)
	}
}
