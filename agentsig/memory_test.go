package agentsig_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// TestMemory looks at what a scanner holds while hostile output comes in.
func TestMemory(t *testing.T) {
	size := 4 << 20
	if testing.Short() {
		size = 2 << 20
	}
	big := strings.Repeat("x", 65_000)
	exit := `{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"CI_PENDING","exit_reason":"completed"`
	for name, pattern := range map[string]struct{ before, again string }{
		"further signals after a payload began": {"<signal type='stuck' attempted='a' blocker='the wall'/>\nCHECKPOINT: a\n", "<signal type='stuck'><attempted>" + big + "</attempted><blocker>the wall</blocker></signal>\n"},
		"records with a long key twice":         {"CHECKPOINT: a\n", exit + `,"` + big[:30_000] + `":"a","` + big[:30_000] + `":"b"}` + "\n"},
		"records with long notes, rejected":     {"CHECKPOINT: a\n", exit + `,"notes":"` + big[:10_000] + `"}` + "\n"},
		"paths that are too long":               {"CHECKPOINT: a\n", "FILE CONFLICT: \x1b" + big[:4000] + "\n"},
		"line signals inside a block":           {"", "<signal type='stuck'>\n" + strings.Repeat("CHECKPOINT: a\n", 4000) + "</signal>\n"},
		"an endless payload":                    {"CHECKPOINT: a\n", "some text\n"},
		"an endless line":                       {"", "word "},
		"an unclosed block":                     {"<signal type='stuck'>", "word "},
		"an unclosed object":                    {`{"protocol":"`, "word "},
		"inline code without end":               {"a ` b\n<signal type='stuck'> ", "word `` "},
	} {
		t.Run(name, func(t *testing.T) {
			s := agentsig.NewScanner(agentsig.Options{Role: agentsig.RoleDeveloper}, agentsig.Sink{})
			chunks := chunksOf(4096)([]byte(pattern.before + strings.Repeat(pattern.again, 1+size/len(pattern.again))))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var most uint64
			for i, chunk := range chunks {
				if _, err := s.Write(chunk); err != nil {
					t.Fatal(err)
				}
				if i%64 == 63 {
					runtime.GC()
					runtime.ReadMemStats(&after)
					if after.HeapAlloc > before.HeapAlloc {
						most = max(most, after.HeapAlloc-before.HeapAlloc)
					}
				}
			}
			runtime.KeepAlive(s)
			runtime.KeepAlive(chunks)
			t.Logf("it holds up to %d KiB", most>>10)
			if most > 1<<20 {
				t.Error("of which 1024 are allowed")
			}
		})
	}
}
