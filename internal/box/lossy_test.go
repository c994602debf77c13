package box_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
)

// lossy is a bad way to a box: of a hundred requests it loses the answers of five,
// carries out five again when they are done, and five twice at once. It counts
// them. The box has always finished with a request before its client hears of it,
// or hears nothing. It hears nothing too if two at once were answered differently:
// a refusal is not recorded, so one may be refused and the other carried out, and
// only asking again tells.
type lossy struct {
	box                   http.Handler
	requests              atomic.Uint64 // decide what becomes of each
	lost, again, together atomic.Int64
}

func (l *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	times := func(n int) []*httptest.ResponseRecorder {
		answers := make([]*httptest.ResponseRecorder, n)
		var all sync.WaitGroup
		for i := range answers {
			answers[i] = httptest.NewRecorder()
			all.Go(func() { // where net/http does not hide a panic
				copied := r.Clone(r.Context())
				copied.Body = io.NopCloser(bytes.NewReader(body))
				l.box.ServeHTTP(answers[i], copied)
			})
		}
		all.Wait()
		return answers
	}
	var answer *httptest.ResponseRecorder
	switch n := rand.New(rand.NewPCG(1, l.requests.Add(1))).IntN(100); {
	case n < 5:
		l.lost.Add(1)
		times(1)
		panic(http.ErrAbortHandler)
	case n < 10:
		l.again.Add(1)
		times(1)
		answer = times(1)[0]
	case n < 15:
		l.together.Add(1)
		both := times(2)
		if answer = both[0]; !bytes.Equal(both[0].Body.Bytes(), both[1].Body.Bytes()) {
			panic(http.ErrAbortHandler)
		}
	default:
		answer = times(1)[0]
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // a client that has gone asks again
}
