package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/signalbox-dev/signalbox/ledger"
)

// nameOf is how an error begins that names a blob of a story.
func nameOf(name string) string {
	return ledger.BlobPath(ledger.NewBlob([]byte("the transcript of "+name)).SHA256) + " is missing"
}

// blobStory is a ledger that is told in words. "ref a" refers to a blob, "escaped a"
// too, in another spelling, and "pair a" to a and b. "remove a" says that it was
// removed, "both a" is one event that does both, "missize a" gives another size,
// "say a" is of another type, "empty" and "nothing" name no blob. "fill ..." is a
// hundred other events for each dot. "there a" puts the blob into the files, and
// "wrong a" other bytes.
func blobStory(t *testing.T, story string) *book {
	t.Helper()
	b := newBook(t)
	n := 0
	add := func(kind, payload string) {
		e := event(fmt.Sprint("item-", n%3), n)
		e.Type, e.Payload = kind, json.RawMessage(payload)
		b.add(t, e)
		n++
	}
	for _, step := range strings.Split(story, ", ") {
		verb, name, _ := strings.Cut(step, " ")
		blob := ledger.NewBlob([]byte("the transcript of " + name))
		path := ledger.BlobPath(blob.SHA256)
		ref := fmt.Sprintf(`"transcript":{"blob":"%s","size":%d}`, blob.SHA256, blob.Size)
		removed := fmt.Sprintf(`"removed":[{"sha256":"%s","size":%d}],"reason":"older than 30 days"`, blob.SHA256, blob.Size)
		switch verb {
		case "ref":
			add("AgentSessionCompleted", "{"+ref+"}")
		case "escaped":
			add("AgentSessionCompleted", "{"+strings.Replace(ref, `"blob"`, `"\u0062lob"`, 1)+"}")
		case "remove":
			add(ledger.TypeBlobRemoved, "{"+removed+"}")
		case "pair":
			other := ledger.NewBlob([]byte("the transcript of b"))
			add("AgentSessionCompleted", fmt.Sprintf(`[{%s},{"transcript":{"blob":"%s","size":%d}}]`, ref, other.SHA256, other.Size))
		case "both":
			add(ledger.TypeBlobRemoved, "{"+ref+","+removed+"}")
		case "missize":
			add(ledger.TypeBlobRemoved, strings.Replace("{"+removed+"}", `"size":`, `"size":1`, 1))
		case "say":
			add("WorkRemoved", "{"+removed+"}")
		case "empty":
			add(ledger.TypeBlobRemoved, `{"removed":[],"reason":"none"}`)
		case "nothing":
			add(ledger.TypeBlobRemoved, `[]`)
		case "fill":
			for range len(name) * 100 {
				add("WorkAdded", `{}`)
			}
		case "there":
			b.files[path] = &fstest.MapFile{Data: []byte("the transcript of " + name)}
		case "wrong":
			b.files[path] = &fstest.MapFile{Data: []byte("the transcript of x")}
		default:
			t.Fatalf("what is %q?", step)
		}
	}
	b.seal(t)
	return b
}

// A blob may be missing if it was removed on purpose and nobody needed it since.
func TestBlobRemoved(t *testing.T) {
	for story, want := range map[string]struct{ blobs, removed int }{
		"ref a, there a":                            {1, 0},
		"ref a, remove a":                           {0, 1},
		"ref a, ref a, remove a":                    {0, 1},
		"ref a, fill ......, remove a, fill ....":   {0, 1},
		"ref a, ref b, remove b, remove a":          {0, 2},
		"ref a, remove a, ref a, remove a":          {0, 2},
		"ref a, remove a, remove a":                 {0, 1},
		"ref a, remove a, there a":                  {1, 0},
		"ref a, remove a, ref a, there a":           {2, 0},
		"ref a, missize a, remove a":                {0, 1},
		"remove a":                                  {0, 0},
		"escaped a, remove a":                       {0, 1},
		"ref a, both a, remove a":                   {0, 2},
		"ref a, ref b, fill ..., remove a, there b": {1, 1},
	} {
		b := blobStory(t, story)
		r, err := ledger.Verify(b.files, b.key)
		if err != nil || r.Blobs != want.blobs || r.Removed != want.removed {
			t.Errorf("%s: got %d blobs, %d removed, %v, want %+v", story, r.Blobs, r.Removed, err, want)
		}
	}
}

// What is missing without a removal, or after it, is named with its event.
func TestBlobMissing(t *testing.T) {
	for story, want := range map[string]struct {
		event int64
		text  string
	}{
		"ref a":                                  {0, "no later event says that it was removed"},
		"escaped a":                              {0, "no later event says that it was removed"},
		"ref a, fill ..., ref a":                 {0, "no later event"},
		"pair a, remove a":                       {0, nameOf("b")},
		"pair a, remove b":                       {0, nameOf("a")},
		"ref a, remove b":                        {0, "blob/"},
		"remove a, ref a":                        {1, "no later event"},
		"ref a, remove a, ref a":                 {2, "no later event"},
		"ref a, remove a, fill ......, ref a":    {602, "no later event"},
		"fill ......, ref a, fill ......, ref b": {600, "no later event"},
		"ref a, missize a":                       {0, "no later event"},
		"ref a, say a":                           {0, "no later event"},
		"both a":                                 {0, "no later event"},
		"ref a, both a":                          {1, "no later event"},
		"ref a, remove a, wrong a":               {0, "does not have the bytes"},
		"ref a, ref b, remove a":                 {1, "no later event"},
		"ref a, ref b, there b":                  {0, "no later event"},
		"ref a, empty":                           {1, "it names no blob"},
		"ref a, nothing":                         {1, "not the payload of BlobRemoved"},
	} {
		b := blobStory(t, story)
		_, err := ledger.Verify(b.files, b.key)
		var wrong *ledger.VerifyError
		if !errors.As(err, &wrong) || wrong.Event != want.event || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: got %v, want event %d and %q", story, err, want.event+1, want.text)
			continue
		}
		width := min(ledger.TileWidth, int64(len(b.stored))-want.event/256*256)
		if path := ledger.EntriesPath(want.event/256, int(width)); wrong.Path != path {
			t.Errorf("%s: got %s, want %s", story, wrong.Path, path)
		}
		if strings.Contains(want.text, "later") && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v is not about a file that is missing", story, err)
		}
	}
}

// A blob that is missing is reported before a tile that is wrong, as what is
// nearer to the events.
func TestBlobMissingAndTile(t *testing.T) {
	b := blobStory(t, "fill ......, ref a")
	b.files[ledger.TilePath(0, 0, ledger.TileWidth)].Data[7] ^= 1
	var wrong *ledger.VerifyError
	if _, err := ledger.Verify(b.files, b.key); !errors.As(err, &wrong) || wrong.Event != 600 {
		t.Errorf("got %v", err)
	}
}

func ExampleParseBlobRemoved() {
	b, err := ledger.ParseBlobRemoved([]byte(`{"removed":[{"sha256":"` + strings.Repeat("ab", 32) + `","size":1024}],"reason":"older than 30 days"}`))
	fmt.Println(len(b.Removed), b.Removed[0].Size, b.Reason, err)
	// Output: 1 1024 older than 30 days <nil>
}
