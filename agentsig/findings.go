package agentsig

import (
	"errors"
	"io"
	"iter"
)

// Findings returns what there is in an output while it is read, in the order of the offsets: for output that
// is large, or still coming. It reads in pieces, and no further than the loop goes. An error of the options, or of the reader,
// comes last, with an empty finding. The output is read once, so the sequence is good for one loop. Whoever needs the clean
// text, or the verdict, takes a [Scanner].
func Findings(r io.Reader, o Options) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		if err := o.Validate(); err != nil {
			yield(Finding{}, err)
			return
		}
		var found []Finding
		s := NewScanner(o, Sink{Finding: func(f Finding) { found = append(found, f) }})
		piece := make([]byte, 32<<10)
		for idle := 0; ; {
			n, err := r.Read(piece)
			s.write(piece[:n])
			switch {
			case n > 0:
				idle = 0
			case err == nil:
				if idle++; idle == maxIdle {
					err = io.ErrNoProgress
				}
			}
			if err != nil {
				s.Close()
			}
			for _, f := range found {
				if !yield(f, nil) {
					return
				}
			}
			clear(found)
			found = found[:0]
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Finding{}, err)
				}
				return
			}
		}
	}
}

// maxIdle is how often in a row a reader may give nothing, and no error.
const maxIdle = 100
