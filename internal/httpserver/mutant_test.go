package httpserver

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed by the test named with it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestBody", Mutant: mutant.Mutant{Name: "a body may take any time", File: "httpserver.go", Old: "ReadTimeout: BodyPatience, ", New: ""}},
		{By: "TestStranger$", Mutant: mutant.Mutant{Name: "a head may take any time", File: "httpserver.go", Old: "ReadHeaderTimeout: HeaderPatience, ", New: ""}},
		{By: "TestStranger$|TestKnown", Mutant: mutant.Mutant{Name: "a refused connection waits for its body", File: "httpserver.go", Old: ".SetReadDeadline(time.Now().Add(strangersBody))", New: ".SetReadDeadline(time.Now().Add(BodyPatience))"}},
		{By: "TestStranger$", Mutant: mutant.Mutant{Name: "a refused connection stays", File: "httpserver.go", Old: `w.Header().Set("Connection", "close")`, New: ""}},
		{By: "TestKnown", Mutant: mutant.Mutant{Name: "an admitted connection is closed", File: "httpserver.go", Old: `w.Header().Del("Connection")`, New: ""}},
		{By: "TestLongWait", Mutant: mutant.Mutant{Name: "a request that waits is given up", File: "httpserver.go", Old: "if r.Body != http.NoBody {", New: "if true {"}},
		{By: "TestLongWait", Mutant: mutant.Mutant{Name: "the answer to a long wait is lost", File: "httpserver.go", Old: ".SetWriteDeadline(time.Now().Add(AnswerPatience))", New: ".Flush()"}},
		{By: "TestServeIsLimited", Mutant: mutant.Mutant{Name: "there is no limit", File: "httpserver.go", Old: "s.Server.Serve(s.limit(l, all))", New: "s.Server.Serve(map[int]net.Listener{all: l}[all])"}},
		{By: "TestServeIsLimited", Mutant: mutant.Mutant{Name: "strangers hold up a stop", File: "httpserver.go", Old: "s.RegisterOnShutdown(limited.dismiss)", New: ""}},
		{By: "TestSecure", Mutant: mutant.Mutant{Name: "by TLS, nobody notices that a client has gone", File: "limit.go", Old: "(len(p) == 1 || c.from.sealed && c.waits.Load())", New: "len(p) == 1"}},
		{By: "TestSecure", Mutant: mutant.Mutant{Name: "by TLS, nobody is admitted", File: "httpserver.go", Old: "c = t.NetConn()", New: "_ = t"}},
		{By: "TestSecure", Mutant: mutant.Mutant{Name: "all connections are for both", File: "httpserver.go", Old: "return all - secure, secure", New: "return all, secure"}},
		{By: "TestSecure", Mutant: mutant.Mutant{Name: "HTTP/2 is spoken", File: "httpserver.go", Old: "s.Protocols.SetHTTP1(true)", New: "s.Protocols.SetHTTP1(true)\n\ts.Protocols.SetHTTP2(true)"}},
		{By: "TestPace", Mutant: mutant.Mutant{Name: "a pace never ends", File: "pace.go", Old: "if p.left == 0 {", New: "if false {"}},
		{By: "TestPace", Mutant: mutant.Mutant{Name: "a pace gathers", File: "pace.go", Old: "min(time.Duration(p.most), time.Duration(p.left)+more)", New: "min(1<<20, time.Duration(p.left)+more)"}},
		{By: "TestHandshakes", Mutant: mutant.Mutant{Name: "every failed handshake is a line", File: "pace.go", Old: "if !ok {", New: "if !ok && len(line) == 0 {"}},
		{By: "TestTooManyStrangers", Mutant: mutant.Mutant{Name: "strangers are not counted", File: "limit.go", Old: "if l.strangers.Len() >= l.mostStrangers {", New: "if false {"}},
		{By: "TestTooManyStrangers", Mutant: mutant.Mutant{Name: "the newest stranger goes", File: "limit.go", Old: "oldest = l.strangers.Front()", New: "oldest = l.strangers.Back()"}},
		{By: "TestManyAtOnce", Mutant: mutant.Mutant{Name: "a stranger has no time for its request", File: "limit.go", Old: "wait > 0 {", New: "wait > strangersTime {"}},
		{By: "TestTooManyKnown", Mutant: mutant.Mutant{Name: "known connections are not counted", File: "limit.go", Old: "l.known >= l.mostKnown && !needed ||", New: ""}},
		{By: "TestTooManyKnown", Mutant: mutant.Mutant{Name: "who is needed waits for others", File: "limit.go", Old: "&& !needed ", New: ""}},
		{By: "TestTooManyKnown", Mutant: mutant.Mutant{Name: "a known connection that left is still counted", File: "limit.go", Old: "c.from.known--", New: "c.from.known -= 0"}},
		{By: "TestGoneWhileWaiting", Mutant: mutant.Mutant{Name: "what comes behind a request that waits is kept", File: "limit.go", Old: "if ahead && c.waits.Load() {", New: "if false {"}},
		{By: "TestGoneWhileWaiting", Mutant: mutant.Mutant{Name: "what came before a request waits is not looked at", File: "httpserver.go", Old: "if c.ahead.Load() {", New: "if false {"}},
		{By: "TestBehind", Mutant: mutant.Mutant{Name: "a connection waits when its request is answered", File: "httpserver.go", Old: "defer c.waits.Store(false)", New: ""}},
		{By: "TestBehind", Mutant: mutant.Mutant{Name: "what came behind stays behind when it is read", File: "limit.go", Old: "c.ahead.Store(ahead)", New: "c.ahead.Store(ahead || c.ahead.Load())"}},
		{By: "TestStream", Mutant: mutant.Mutant{Name: "a client that has gone keeps its stream", File: "stream.go", Old: "if err := Waits(r); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: "TestStream", Mutant: mutant.Mutant{Name: "a stream waits for a client that does not read", File: "stream.go", Old: ".SetWriteDeadline(time.Now().Add(StreamPatience))", New: ".SetWriteDeadline(time.Time{})"}},
		{By: "TestStream", Mutant: mutant.Mutant{Name: "a stream outlasts its server", File: "stream.go", Old: "\t\t_ = s.control.SetWriteDeadline(time.Now()) // ends a Send\n", New: ""}},
		{By: "TestSecureStreamEnds", Mutant: mutant.Mutant{Name: "by TLS, a stream's end looks forged", File: "stream.go", Old: "\t\t_ = s.control.SetWriteDeadline(time.Now().Add(lastPatience))\n", New: ""}},
		{By: "TestStream", Mutant: mutant.Mutant{Name: "a stream is begun before its request has ended", File: "stream.go", Old: "if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, mostIgnored)); err != nil {", New: "if err := error(nil); err != nil {"}},
	})
}
