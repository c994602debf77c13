package engine
import ("testing";"context";"fmt";"os";"path/filepath";"log/slog";"time")
func TestDamage(t *testing.T) {
	ctx := context.Background()
	mk := func(n int) string {
		dir := t.TempDir()
		j, err := Open(ctx, Options{Dir: dir})
		if err != nil { t.Fatal(err) }
		for i := range n { if _, err := j.Append(ctx, fmt.Sprint("S", i), 0, []byte("some data here")); err != nil { t.Fatal(err) } }
		j.Close()
		return dir
	}
	d := mk(10)
	filepath.Walk(d, func(p string, i os.FileInfo, _ error) error { fmt.Println(p[len(d):], i.Size()); return nil })
	base := "/jetstream/$G/streams/LEDGER/"
	for _, c := range []struct{name string; f func(dir string)}{
		{"meta.inf garbage", func(d string) { os.WriteFile(d+base+"meta.inf", []byte("garbage"), 0o600) }},
		{"meta.inf gone", func(d string) { os.Remove(d+base+"meta.inf") }},
		{"meta.sum garbage", func(d string) { os.WriteFile(d+base+"meta.sum", []byte("garbage"), 0o600) }},
		{"blk garbage", func(d string) { os.WriteFile(d+base+"msgs/1.blk", []byte("garbage"), 0o600) }},
		{"blk gone", func(d string) { os.Remove(d+base+"msgs/1.blk") }},
		{"msgs gone", func(d string) { os.RemoveAll(d+base+"msgs") }},
		{"msgs a file", func(d string) { os.RemoveAll(d+base+"msgs"); os.WriteFile(d+base+"msgs", []byte("x"), 0o600) }},
		{"stream gone", func(d string) { os.RemoveAll(d+base) }},
		{"index garbage", func(d string) { os.WriteFile(d+base+"msgs/index.db", []byte("garbage"), 0o600) }},
		{"jetstream a file", func(d string) { os.RemoveAll(d+"/jetstream"); os.WriteFile(d+"/jetstream", []byte("x"), 0o600) }},
		{"dir a file", func(d string) { os.RemoveAll(d); os.WriteFile(d, []byte("x"), 0o600) }},
	} {
		dir := mk(10)
		c.f(dir)
		t0 := time.Now()
		j, err := Open(ctx, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(os.Stdout, nil))})
		fmt.Println("==", c.name, err, time.Since(t0))
		if err == nil {
			tip, err := j.Tip(ctx)
			n := 0
			j.stallWait = time.Second
			rerr := j.Read(ctx, 1, func(Record) error { n++; return nil })
			fmt.Println("   ", tip, err, n, rerr)
			j.Close()
		}
	}
}
