package gitserver_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	const serve = "../worktree/serve.go"
	mutant.All(t, []mutant.Noticed{
		{By: "TestPushRefused", Mutant: mutant.Mutant{Name: "any ref may be made", File: "gitserver.go", Old: "if p.ref != ref {", New: "if false {"}},
		{By: "TestPushRefused", Mutant: mutant.Mutant{Name: "a ref is made by its name in small letters", File: "gitserver.go", Old: "if p.ref != ref {", New: "if !strings.EqualFold(p.ref, ref) {"}},
		{By: "TestPushRefused", Mutant: mutant.Mutant{Name: "a second command goes to git", File: "pkt.go", Old: "case len(l.lines) > 1:", New: "case len(l.lines) > 9:"}},
		{By: "TestPushRefused", Mutant: mutant.Mutant{Name: "a ref is moved", File: "pkt.go", Old: `case strings.Trim(f[0], "0") != "":`, New: "case false:"}},
		{By: "TestPushRefused", Mutant: mutant.Mutant{Name: "a ref is deleted", File: "pkt.go", Old: `case strings.Trim(p.commit, "0") == "":`, New: "case false:"}},
		{By: "TestPushRefused", Mutant: mutant.Mutant{Name: "a client asks for what it likes", File: "pkt.go", Old: "if !slices.Contains(allowed, name) {", New: "if false {"}},
		{By: "TestPushRefused", Mutant: mutant.Mutant{Name: "words go on behind their end", File: "pkt.go", Old: "strings.ContainsFunc(words, unicode.IsControl) || !isName", New: "!isName"}},
		{By: "TestPushRefused", Mutant: mutant.Mutant{Name: "a list has no end", File: "pkt.go", Old: "if l.raw.Len() > maxLists {", New: "if false {"}},
		{By: "TestPushRefused", Mutant: mutant.Mutant{Name: "nobody is told", File: "gitserver.go", Old: "\ts.logger.Warn(\"a request of", New: "\ts.logger.Debug(\"a request of"}},
		{By: "TestFetchRefused", Mutant: mutant.Mutant{Name: "files are given out by name", File: "gitserver.go", Old: "if err == nil && !commits {", New: "if err == nil && !commits && false {"}},
		{By: "TestFetchRefused", Mutant: mutant.Mutant{Name: "one name of many is looked at", File: serve, Old: `== strings.Repeat("commit\n", len(names))`, New: `!= "" && strings.HasPrefix(string(out.text), "commit\n")`}},
		{By: "TestFetchRefused", Mutant: mutant.Mutant{Name: "a ref's commits tell of it", File: "pkt.go", Old: `strings.HasPrefix(verb, "deepen-"):`, New: "false:"}},
		{By: "TestAdvertised", Mutant: mutant.Mutant{Name: "HEAD tells where it is", File: "pkt.go", Old: "return !slices.Contains(allowed, name)\n\t})", New: "return !slices.Contains(allowed, name) && name != \"symref\"\n\t})"}},
		{By: "TestAdvertised", Mutant: mutant.Mutant{Name: "hidden refs are shown", File: serve, Old: `"transfer.hideRefs=refs")`, New: `"transfer.hideRefs=refs/tags")`}},
		{By: "TestAdvertised", Mutant: mutant.Mutant{Name: "a lender's refs are told", File: serve, Old: `"core.alternateRefsCommand=true",`, New: ""}},
		{By: "TestAdvertised", Mutant: mutant.Mutant{Name: "the repository's settings open it", File: serve, Old: `"uploadpack.allowTipSHA1InWant=false", "uploadpack.allowReachableSHA1InWant=false", "uploadpack.allowAnySHA1InWant=false",`, New: ""}},
		{By: "TestPacks", Mutant: mutant.Mutant{Name: "what is malformed is taken", File: serve, Old: `"receive.fsckObjects=true", `, New: ""}},
		{By: "TestPacks", Mutant: mutant.Mutant{Name: "a push has no size", File: serve, Old: `fmt.Sprintf("receive.maxInputSize=%d", s.Input),`, New: ""}},
		{By: "TestPacks", Mutant: mutant.Mutant{Name: "a push may take all there is", File: serve, Old: "c.most = &s.Most", New: "_ = s.Most"}},
		{By: "TestNotAskedFor", Mutant: mutant.Mutant{Name: "another server is asked for what is missing", File: serve, Old: `, "protocol.allow=never"}`, New: "}"}},
		{By: "TestAsked", Mutant: mutant.Mutant{Name: "a ref may be any setting", File: "gitserver.go", Old: `if !RefName(strings.TrimSuffix(ref, "/")) ||`, New: "if "}},
		{By: "TestAsked", Mutant: mutant.Mutant{Name: "any form may ask", File: "gitserver.go", Old: `case !q.advertises && r.Header.Get("Content-Type")`, New: `case false && r.Header.Get("Content-Type")`}},
		{By: "TestPackedRequest", Mutant: mutant.Mutant{Name: "nothing goes on for ever", File: "gitserver.go", Old: "in = &bounded{ctx: ctx, from: in, left: most} // also", New: "// also"}},
		{By: "TestPackedRequest", Mutant: mutant.Mutant{Name: "what is unpacked has no size", File: "gitserver.go", Old: "return &bounded{ctx: ctx, from: in, left: most}, nil", New: "return &bounded{ctx: ctx, from: in, left: 1 << 40}, nil"}},
		{By: "TestCancelled", Mutant: mutant.Mutant{Name: "git outlives who asked", File: "gitserver.go", Old: "context.WithTimeoutCause(r.Context(), s.limits.Time,", New: "context.WithTimeoutCause(context.WithoutCancel(r.Context()), s.limits.Time,"}},
		{By: "TestStall", Mutant: mutant.Mutant{Name: "a client that does not read is waited for", File: "../httpserver/stream.go", Old: "_ = p.control.SetWriteDeadline(time.Now().Add(p.patience))", New: "_ = p.patience"}},
		{By: "TestStall", Mutant: mutant.Mutant{Name: "a client that does not write is waited for", File: "../httpserver/stream.go", Old: "_ = p.control.SetReadDeadline(time.Now().Add(p.patience))", New: "_ = p.patience"}},
		{By: "TestTime", Mutant: mutant.Mutant{Name: "a request that goes on has no time", File: "gitserver.go", Old: "if b.ctx.Err() != nil {", New: "if false {"}},
		{By: "TestAtOnce", Mutant: mutant.Mutant{Name: "all are served at once", File: "gitserver.go", Old: "newTurns(l.AtOnce)", New: "newTurns(l.AtOnce + 9)"}},
		{By: "TestTurns", Mutant: mutant.Mutant{Name: "one machine takes all places", File: "turns.go", Old: "share: max(count*3/4, 1)", New: "share: count"}},
		{By: "TestTurns", Mutant: mutant.Mutant{Name: "machines are remembered for ever", File: "turns.go", Old: "its.users == 0 {", New: "its.users < 0 {"}},
	})
}
