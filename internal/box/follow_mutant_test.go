package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults of clients that follow, put in on purpose, is noticed by the test beside it.
func TestFollowerMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestFollowersAreLimited", Mutant: mutant.Mutant{Name: "any number of clients may follow", File: "follow.go",
			Old: "maxFollowing = 128 ", New: "maxFollowing = 1 << 12"}},
		{By: "TestFollowersAreLimited", Mutant: mutant.Mutant{Name: "a client that leaves keeps its place", File: "follow.go",
			Old: "return func() { <-c.places }, nil", New: "return func() {}, nil"}},
		{By: "TestGoneBehindARequest", Mutant: mutant.Mutant{Name: "a claim of a client that has gone stays in line", File: "http.go",
			Old: "if err := httpserver.Waits(r); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: "TestFollowersAreLimited", Mutant: mutant.Mutant{Name: "a page takes the place of a follower", File: "events.go",
			Old: "in := b.reading", New: "in := b.following"}},
		{By: "TestReadersAreLimited", Mutant: mutant.Mutant{Name: "any number of clients may read", File: "follow.go",
			Old: "maxReading   = 128 ", New: "maxReading   = 1 << 12"}},
		{By: "TestFollowersWithoutBody", Mutant: mutant.Mutant{Name: "a place is taken before the request has ended", File: "follow.go",
			Old: "(out *httpserver.Stream, end func(), err error) {\n\tif out,", New: "(out *httpserver.Stream, end func(), err error) {\n\tif in.places != nil {\n\t\tin.places <- struct{}{}\n\t\tdefer func() { <-in.places }()\n\t}\n\tif out,"}},
		{By: "TestUnsentOutputs", Mutant: mutant.Mutant{Name: "an output that is not sent takes a turn", File: "large.go",
			Old: "output, err = io.ReadAll(io.LimitReader(body, smallOutput+1))", New: "if end, err = l.take(r.Context()); err == nil {\n\t\tdefer end()\n\t}\n\toutput, err = io.ReadAll(io.LimitReader(body, smallOutput+1))"}},
		{By: "TestUnsentOutputs", Mutant: mutant.Mutant{Name: "the output of a session that is not there is read", File: "http.go",
			Old: "if _, _, err := b.session(session); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: "TestFollowerGathers", Mutant: mutant.Mutant{Name: "a follower is woken by every append", File: "events.go",
			Old: "return pauseFollowing(r.Context())", New: "return nil"}},
		{By: "TestFollowerFallsBehind", Mutant: mutant.Mutant{Name: "a follower that has missed something is kept waiting", File: "events.go",
			Old: "records[len(records)-1].Seq < b.state.upTo()", New: "len(records) == 0"}},
		{By: "TestFollowerFallsBehind", Mutant: mutant.Mutant{Name: "a follower that comes back begins anew", File: "events.go",
			Old: `cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("after"))`, New: `q.Get("after")`}},
		{By: "TestFollowerFallsBehind", Mutant: mutant.Mutant{Name: "a follower that comes back gets its last event again", File: "events.go",
			Old: "b.log.Watch(r.Context(), want.after+1,", New: "b.log.Watch(r.Context(), max(1, want.after),"}},
		{By: "TestBadLastEventID", Mutant: mutant.Mutant{Name: "an event that is not there is waited for", File: "events.go",
			Old: "w.after > w.upto {", New: "w.after > 2*w.upto {"}},
	})
}
