package main

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule that the figures rest on, left out, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^Test(Judge|Sum|CheckHasNoKey|CheckIsClean|Alone|AloneResult|AloneTime|AloneRepository|TasksAreChanged|DetailHasNoKey|NothingIsLeftRunning|CheckOfNothing|Ending|NothingIsSpentUnasked)$", []mutant.Mutant{
		{Name: "a false claim counts as done", File: "table.go", Old: "case s == stateDone && passed:", New: "case s == stateDone && (passed || true):"},
		{Name: "to decline what nobody can do is not right", File: "table.go", Old: "case impossible &&", New: "case false &&"},
		{Name: "who runs out of time has declined", File: "table.go", Old: " && (s == stateAsks || s == stateCant):", New: ":"},
		{Name: "a login that is refused is a question", File: "box.go", Old: "case delivery.CauseLogin:", New: "case \"\":"},
		{Name: "a false claim is no claim", File: "table.go", Old: "t.Claims++\n\t\t\tt.FalseClaims++", New: "t.FalseClaims++"},
		{Name: "the check sees what is not committed", File: "task.go", Old: "execute(limited, dir, checkEnvironment()", New: "execute(limited, repository, checkEnvironment()"},
		{Name: "the check gets the environment", File: "task.go", Old: "execute(limited, dir, checkEnvironment()", New: "execute(limited, dir, os.Environ()"},
		{Name: "what an agent repeats counts", File: "alone.go", Old: ", Nonce: v.Nonce}", New: "}"},
		{Name: "an agent alone has no budget", File: "alone.go", Old: "l.may.Share(l.all()) >= 1", New: "l.may.Share(l.all()) < 0"},
		{Name: "an agent alone has all the time there is", File: "alone.go", Old: "done := ctx.Done()", New: "done := context.Background().Done()"},
		{Name: "an agent alone is not asked for its signal", File: "alone.go", Old: `l.state == "" && !said.OK() {`, New: `l.state == "never" {`},
		{Name: "what an agent alone did not commit is lost", File: "alone.go", Old: `"add", "-A"`, New: `"status"`},
		{Name: "a run that asks is done", File: "box.go", Old: "case exit == 0:", New: "case exit == 0 || exit == 2:"},
		{Name: "an agent's settings of git are followed", File: "alone.go", Old: `"--git-dir=" + repo`, New: `"--git-dir=" + filepath.Join(files, ".git")`},
		{Name: "a repository above is taken for one that is gone", File: "task.go", Old: `"GIT_CEILING_DIRECTORIES="`, New: `"GIT_CEILING="`},
		{Name: "a broken repository ends the evaluation", File: "task.go", Old: "return false, err.Error(), ctx.Err()", New: `return false, "", err`},
		{Name: "the hidden check is what an agent made of it", File: "task.go", Old: `"sh", "-c", t.judge)`, New: `"sh", t.hidden("check"))`},
		{Name: "changed tasks are not noticed", File: "evaluate.go", Old: "err != nil || now != before {", New: `err != nil || now != before && now == "" {`},
		{Name: "what loses its parent is not looked for", File: "evaluate.go", Old: "err := process.AdoptOrphans(); err != nil", New: "err := error(nil); err != nil && process.AdoptOrphans() != nil"},
		{Name: "what a check leaves goes on", File: "execute.go", Old: "errors.Join(err, process.EndOrphans())", New: "errors.Join(err, nil)"},
		{Name: "a key is passed on", File: "evaluate.go", Old: "cut(e.redact.Text(r.Detail))", New: "cut(r.Detail)"},
		{Name: "money is spent unasked", File: "main.go", Old: "!o.modelServer && !o.yes", New: "false"},
	}))
}
