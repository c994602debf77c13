package backup_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule about what a stranger's backup may have, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "keys may have any size", File: "restore.go", Old: "(name == aboutFile || isSecret(name))", New: "name == aboutFile"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a file may have holes", File: "restore.go", Old: "case sparse(h):", New: "case sparse(h) && false:"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a file may lie at any depth", File: "restore.go", Old: `strings.Count(name, "/") >= maxDepth`, New: "false"}},
		{By: "^TestOnlySessionsFiles$", Mutant: mutant.Mutant{Name: "what agents wrote is backed up", File: "copy.go", Old: "len(parts) == 3 && parts[2]", New: "len(parts) == 0 && parts[2]"}},
		{By: "^TestOnlySessionsFiles$", Mutant: mutant.Mutant{Name: "a session's files lie at any depth", File: "copy.go", Old: "len(parts) > 3 ||", New: "len(parts) > 300 ||"}},
		{By: "^TestGateLogs$", Mutant: mutant.Mutant{Name: "what the gate's checks printed is not backed up", File: "copy.go", Old: "{sessionsDir, gateLogsDir}", New: "{sessionsDir}"}},
		{By: "^TestGateLogs$", Mutant: mutant.Mutant{Name: "what was printed of a session's work is not backed up", File: "restore.go", Old: "work.ParseSession(subject); err == nil {", New: "work.ParseSession(subject); err == nil && false {"}},
		{By: "^TestForeign$", Mutant: mutant.Mutant{Name: "directories below the gate's logs are read", File: "copy.go", Old: "if strings.HasPrefix(dir, gateLogsDir+\"/\") {", New: "if false {"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a log of the gate may lie anywhere", File: "restore.go", Old: "dir == gateLogsDir+\"/\" &&", New: "dir != \"\" &&"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a log of the gate may have any name", File: "restore.go", Old: "return ok && dir ==", New: "return (ok || true) && dir =="}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a log of the gate may be nobody's", File: "restore.go", Old: "subject != \"\" &&", New: ""}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a log of the gate may be of any subject", File: "restore.go", Old: "strings.Trim(subject, \"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ\") == \"\"", New: "true"}},
		{By: "^TestMachineIsNotDamage$", Mutant: mutant.Mutant{Name: "a file that can't be made is damage", File: "restore.go", Old: "if inTheWay(err) {", New: "if err != nil {"}},
		{By: "^TestMachineIsNotDamage$", Mutant: mutant.Mutant{Name: "what can't be read here is damage", File: "restore.go", Old: "errors.As(err, &code) &&", New: "false &&"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "what is in the way is this machine's fault", File: "restore.go", Old: "errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist)", New: "false"}},
		{By: "^TestInterruptedAtAPipe$", Mutant: mutant.Mutant{Name: "a backup is waited for without an end", File: "restore.go", Old: "in := until(ctx, file)", New: "in := io.NopCloser(file)"}},
		{By: "^TestInterruptedAtAPipe$", Mutant: mutant.Mutant{Name: "a backup that was not read to its end is damaged", File: "restore.go", Old: "cmp.Or(ctx.Err(), err)", New: "cmp.Or(err, ctx.Err())"}},
		{By: "^TestOwnKey$", Mutant: mutant.Mutant{Name: "the key that runners have pinned is lost", File: "copy.go", Old: "append(secretFiles(), ownKey)", New: "secretFiles()"}},
		{By: "^TestOwnKey$", Mutant: mutant.Mutant{Name: "any text is a key", File: "secrets.go", Old: "_, err = pin.OpenKey(dir)", New: "_ = pin.OpenKey"}},
		{By: "^TestDamagedSecrets$", Mutant: mutant.Mutant{Name: "any text is a token", File: "secrets.go", Old: "if !isToken(texts[name]) {", New: "if !isToken(texts[name]) && false {"}},
		{By: "^TestDamagedSecrets$", Mutant: mutant.Mutant{Name: "a token is any text of its letters", File: "secrets.go", Old: "len(text) >= 26 &&", New: ""}},
		{By: "^TestDamagedSecrets$", Mutant: mutant.Mutant{Name: "the verifier's key may be another's", File: "secrets.go", Old: "if texts[verifierFile] != verifier {", New: "if false {"}},
		{By: "^TestProcessesOfSessions$", Mutant: mutant.Mutant{Name: "a session's process is backed up", File: "copy.go", Old: "|| !expected(name) || ofProcess(name):", New: "|| !expected(name):"}},
		{By: "^TestProcessesOfSessions$", Mutant: mutant.Mutant{Name: "a session's process is restored", File: "restore.go", Old: "case ofProcess(name):", New: "case false:"}},
		{By: "^TestProcessesOfSessions$", Mutant: mutant.Mutant{Name: "the session's own process is none", File: "copy.go", Old: `"session.json", `, New: ""}},
	})
}
