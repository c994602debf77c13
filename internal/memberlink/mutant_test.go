package memberlink_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed by the test named with it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestReplaced$", Mutant: mutant.Mutant{Name: "a connection outlives its key", File: "links.go", Old: "if !slices.ContainsFunc(peers, k.peer.same) {", New: "if !slices.ContainsFunc(peers, func(p Peer) bool { return p.ID == id }) {"}},
		{By: "^TestReplaced$", Mutant: mutant.Mutant{Name: "a connection outlives its address", File: "links.go", Old: " && slices.Equal(p.Addresses, other.Addresses)", New: ""}},
		{By: "^TestReplaced$", Mutant: mutant.Mutant{Name: "who is gone is still spoken to", File: "links.go", Old: "if !slices.ContainsFunc(peers, k.peer.same) {", New: "if at := slices.IndexFunc(peers, func(p Peer) bool { return p.ID == id }); at >= 0 && !k.peer.same(peers[at]) {"}},
		{By: "^TestRefused$", Mutant: mutant.Mutant{Name: "a member that was not reached is tried at once", File: "links.go", Old: "k.until = time.Now().Add(wait/2 + rand.N(wait/2))", New: "_ = rand.N(wait)"}},
		{By: "^TestRefused$", Mutant: mutant.Mutant{Name: "each failure is a line", File: "links.go", Old: "if missed, ok := k.pace.Take(time.Now()); ok {", New: "if missed, ok := k.pace.Take(time.Now()); ok || missed == 0 {"}},
		{By: "^TestRefused$", Mutant: mutant.Mutant{Name: "a refusal is taken for a welcome", File: "stream.go", Old: "if answer.StatusCode != want {", New: "if answer.StatusCode < want {"}},
		{By: "^TestForged$", Mutant: mutant.Mutant{Name: "a stream that is ended at once counts as one that lasted", File: "links.go", Old: "lasting      = time.Second", New: "lasting      = 0"}},
		{By: "^TestStalled$", Mutant: mutant.Mutant{Name: "who takes nothing is waited for", File: "links.go", Old: "stuck         = 2 * time.Second", New: "stuck         = 8 * time.Second"}},
		{By: "^TestStalled$", Mutant: mutant.Mutant{Name: "who does not answer is waited for", File: "links.go", Old: "dialPatience  = time.Second ", New: "dialPatience  = 8 * time.Second "}},
		{By: "^TestStop$", Mutant: mutant.Mutant{Name: "connections outlast a stop", File: "links.go", Old: "\t\t_ = w.Conn.Close() // whoever uses it is told\n\t}\n\tk.running", New: "\t\t_ = w\n\t}\n\tgo k.running"}},
		{By: "^TestRestart$", Mutant: mutant.Mutant{Name: "a stream outlasts its server", File: "receive.go", Old: "control.SetReadDeadline(time.Now()) // as above", New: "control"}},
		{By: "^TestCarrier$", Mutant: mutant.Mutant{Name: "a request goes where it says", File: "links.go", Old: `r.URL.Scheme, r.URL.Host = "https", "member"`, New: `r.URL.Scheme = "https"`}},
		{By: "^TestCarrier$", Mutant: mutant.Mutant{Name: "a request asks for what it did not", File: "links.go", Old: "DisableCompression: true,", New: "DisableCompression: false,"}},
		{By: "^TestAddresses$", Mutant: mutant.Mutant{Name: "the address that answered is forgotten", File: "links.go", Old: "k.last.Store(int32(a.at))", New: "_ = a.at"}},
		{By: "^TestAddresses$", Mutant: mutant.Mutant{Name: "addresses are tried one after the other", File: "links.go", Old: "nextAddress   = 100 * time.Millisecond", New: "nextAddress   = time.Hour"}},
		{By: "^TestNoMessage$", Mutant: mutant.Mutant{Name: "no messages end a stream", File: "stream.go", Old: "if len(s.chunk) == chunkHead {", New: "if false {"}},
		{By: "^TestNoMessage$", Mutant: mutant.Mutant{Name: "a message of any size is sent", File: "stream.go", Old: "if len(m) == 0 || len(m) > member.MaxMessage {", New: "if len(m) == 0 || len(m) > 2*member.MaxMessage {"}},
		{By: "^TestReceive$", Mutant: mutant.Mutant{Name: "a member may speak for another", File: "receive.go", Old: "case said != from:", New: "case false:"}},
		{By: "^TestReceive$", Mutant: mutant.Mutant{Name: "a message may have any size", File: "receive.go", Old: "if size > member.MaxMessage {", New: "if false {"}},
		{By: "^TestReceive$", Mutant: mutant.Mutant{Name: "a stream may end anywhere", File: "receive.go", Old: "return io.ErrUnexpectedEOF", New: "return nil"}},
		{By: "^TestReceiveBounded$", Mutant: mutant.Mutant{Name: "a length alone takes memory", File: "receive.go", Old: "if size <= grown {", New: "if true {"}},
		{By: "^TestFetch$", Mutant: mutant.Mutant{Name: "a checkpoint is anybody's", File: "fetch.go", Old: "case peers[0].ID != leader:", New: "case false:"}},
		{By: "^TestFetch$", Mutant: mutant.Mutant{Name: "who could not be asked has none", File: "fetch.go", Old: "case !errors.Is(err, errNone):", New: "case false:"}},
		{By: "^TestFetch$", Mutant: mutant.Mutant{Name: "if there is no other, nobody has it", File: "fetch.go", Old: "case len(peers) == 0:", New: "case false:"}},
		{By: "^TestFetch$", Mutant: mutant.Mutant{Name: "an error is a file", File: "receive.go", Old: "\tif err != nil {\n\t\treturn err\n\t}\n\tw.Header()", New: "\tw.Header()"}},
		{By: "^TestFetchSlow$", Mutant: mutant.Mutant{Name: "a file may have any size", File: "fetch.go", Old: "if data.Len() > ledger.MaxBlob {", New: "if false {"}},
	})
}
