package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The plain way of reading an event accepts nothing that the strict one refuses,
// and reads the same.
func TestDecodePlain(t *testing.T) {
	base := Event{
		Format: Format, Epoch: 1, Subject: "01JD0000000000000000000001", ItemSeq: 2, Prev: Hash{1, 2, 3},
		Type: "LeaseGranted", Actor: "ann", Session: "s-1.1", Lease: "1.1", Key: "k",
		Time: time.Date(2026, 3, 1, 12, 0, 0, 123e6, time.UTC), Payload: json.RawMessage(`{"a":[1,"b c",{"d\"":null}]}`),
	}
	stored, err := base.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := decodePlain(stored); !ok || !cmp.Equal(e, base) {
		t.Fatalf("a plain event is not read plainly: %v\n%s", ok, cmp.Diff(base, e))
	}
	r := rand.New(rand.NewPCG(1, 2))
	plain, refused := 0, 0
	n := 200_000
	if testing.Short() {
		n = 10_000
	}
	for range n {
		data := []byte(string(stored))
		for range 1 + r.IntN(2) {
			at := r.IntN(len(data))
			switch r.IntN(3) {
			case 0:
				data[at] = interesting[r.IntN(len(interesting))]
			case 1:
				data = append(data[:at], data[at+1:]...)
			case 2:
				data = append(data[:at], append([]byte{interesting[r.IntN(len(interesting))]}, data[at:]...)...)
			}
		}
		if err := sameDecode(data); err != nil {
			t.Fatal(err)
		}
		if _, ok := decodePlain(data); ok {
			plain++
		} else {
			refused++
		}
	}
	if plain < 1000 || refused < 1000 {
		t.Errorf("%d plain, %d not: the test tests little", plain, refused)
	}
}

const interesting = "0123456789abcfZ{}[],:\"\\ \n\t\x00\x7f\xc3\xa9<>&-+.Tnul"

func sameDecode(data []byte) error {
	e, ok := decodePlain(data)
	if !ok {
		return nil
	}
	strict, err := decode(data)
	if err != nil {
		return fmt.Errorf("%q is read plainly, and is refused strictly: %w", data, err)
	}
	if diff := cmp.Diff(strict, e); diff != "" {
		return fmt.Errorf("%q reads differently:\n%s", data, diff)
	}
	return nil
}

// What is compact is JSON without blanks; what is not is not, or is nested deeply.
func TestCompact(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for data, want := range map[string]bool{
		`{}`: true, `[]`: true, `{"a":[1,"b c",{"d\"":null}]}`: true, `"\u00aF\/\b\f\n\r\t\\"`: true, "\"\xff\"": true,
		`0`: true, `-0`: true, `1.5e+10`: true, `1E-2`: true, `true`: true, `[true,false,null]`: true, `""`: true,
		deep(maxPlainDepth - 1): true, deep(maxPlainDepth + 1): false, deep(16_000): false,
		``: false, ` `: false, `{} `: false, ` {}`: false, `[1, 2]`: false, `{"a" :1}`: false, "[1,\n2]": false,
		`[1,]`: false, `[,1]`: false, `[1`: false, `[`: false, `{`: false, `{"a"}`: false, `{"a":}`: false, `{"a":1,}`: false, `{1:2}`: false,
		`{"a":1]`: false, `[1}`: false, `"`: false, `"\`: false, `"\u12"`: false, `"\u12g4"`: false, `"\x"`: false, "\"\n\"": false, "\"\x00\"": false,
		`01`: false, `-`: false, `1.`: false, `.5`: false, `1e`: false, `1e+`: false, `+1`: false, `--1`: false, `1.2.3`: false, `tru`: false, `nulll`: false, `1 2`: false,
	} {
		if got := compact([]byte(data)); got != want {
			t.Errorf("%.60q: got %v", data, got)
		}
	}
}

// FuzzCompact holds compact against the standard library.
func FuzzCompact(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"b c",{"d\"":null}]}`, `[-1.5e3,true,"\u00e9"]`, `[[[[]]]]`, `0`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var same bytes.Buffer
		want := json.Compact(&same, data) == nil && bytes.Equal(same.Bytes(), data) && json.Valid(data)
		if got := compact(data); got && !want || !got && want && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) < maxPlainDepth {
			t.Errorf("%q: got %v, want %v", data, got, want)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	stored, err := Event{
		Format: Format, Epoch: 1, Subject: "01JD0000000000000000000001", ItemSeq: 2, Prev: Hash{1},
		Type: "LeaseGranted", Actor: "ann", Time: time.Unix(1e9, 0), Payload: json.RawMessage(`{"phase":"DRAFT","ttl_ms":600000}`),
	}.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if _, ok := decodePlain(stored); !ok {
				b.Fatal("not plain")
			}
		}
	})
	b.Run("strict", func(b *testing.B) {
		for b.Loop() {
			if _, err := decode(stored); err != nil {
				b.Fatal(err)
			}
		}
	})
}
