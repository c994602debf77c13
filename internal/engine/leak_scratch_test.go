package engine
import ("testing";"context";"go.uber.org/goleak";"fmt")
func TestLeak(t *testing.T) {
	j, err := Open(context.Background(), Options{Dir: t.TempDir()})
	if err != nil { t.Fatal(err) }
	j.Append(context.Background(), "A", 0, nil)
	j.Read(context.Background(), 1, func(Record) error {return nil})
	j.Close()
	fmt.Println(goleak.Find(goleak.IgnoreCurrent()))
	fmt.Println(goleak.Find())
}
