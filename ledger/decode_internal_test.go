package ledger

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	for range 200_000 {
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
