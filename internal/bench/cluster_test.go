package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
)

var clusters = flag.Int("clusters", 0, "TestCluster builds the program, and measures so many rounds")

// TestCluster prints what three boxes carry beside one box, in turn, as ratios within each round; what is between the boxes; what a member takes
// that does nothing; and for how long nothing is answered when the box that leads dies, or is stopped. All processes share this machine's cores and
// its disk. It judges nothing but that everything was measured: docs/scale.md has the figures of -clusters.
func TestCluster(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it takes addresses of 127.0.0.0/8, and looks at processes in /proc")
	}
	if testing.Short() {
		t.Skip("it starts seven boxes")
	}
	m := &trio{meter: &meter{T: t}, rounds: 1, clients: 4, items: 10, alone: 5, deaths: 1, settle: 100 * time.Millisecond, idle: 200 * time.Millisecond, before: 200 * time.Millisecond}
	if *clusters > 0 {
		m.rounds, m.clients, m.items, m.alone, m.deaths = *clusters, 64, 500, 60, 10
		m.settle, m.idle, m.before = 5*time.Second, 10*time.Second, time.Second
		m.program = filepath.Join(t.TempDir(), "signalbox")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", m.program, "../../cmd/signalbox").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	} else {
		t.Setenv("SIGNALBOX_TEST_PROGRAM", "true") // the tests' program is the program: see TestMain
		var err error
		if m.program, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	one := m.begin("one")
	defer one.end()
	m.direct(one)
	m.far(one)
}

// trio measures three boxes beside one.
type trio struct {
	*meter
	rounds, clients, items int
	alone                  int           // items, of one client
	deaths                 int           // of each kind
	before                 time.Duration // a death, and after it is over, requests are counted
	settle, idle           time.Duration
}

// member is a box: of three, or alone.
type member struct {
	*running
	m      *trio
	name   string
	base   string
	listen string       // by TLS
	relay  *relay       // nil if the others reach it without one
	said   bytes.Buffer // by its processes
}

// free returns an address of this machine, on a port that nobody has now.
func (m *trio) free(host string) string {
	m.Helper()
	l, err := new(net.ListenConfig).Listen(m.Context(), "tcp", host+":0")
	m.must(err)
	m.must(l.Close())
	return l.Addr().String()
}

func (m *trio) newMember(name string) *member {
	m.Helper()
	return &member{m: m, name: name, base: m.TempDir()}
}

// begin starts a box that stands alone.
func (m *trio) begin(name string) *member {
	m.Helper()
	b := m.newMember(name)
	b.start()
	return b
}

// run runs a command in the box's place, and returns what it prints.
func (b *member) run(args ...string) string {
	b.m.Helper()
	cmd := exec.CommandContext(b.m.Context(), b.m.program, args...)
	cmd.Dir = b.base
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		b.m.Fatalf("%s: signalbox %s: %v\n%s", b.name, strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// start starts the box's process.
func (b *member) start() {
	b.m.Helper()
	cmd := exec.CommandContext(b.m.Context(), b.m.program, "up", "--json")
	cmd.Env = append(os.Environ(), agentsig.ExitProtocolVariable+"=true")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = &b.said
	var err error
	b.running, err = Options{Dir: b.base}.start(cmd, func(a *answering) error {
		token, err := os.ReadFile(filepath.Join(b.base, ".signalbox", "api.token"))
		a.Token = strings.TrimSpace(string(token))
		return err
	})
	if err != nil {
		b.m.Fatalf("%s: %v\n%s", b.name, err, b.said.String())
	}
}

// die ends the box's process by a signal.
func (b *member) die(by syscall.Signal) {
	b.client.Close()
	b.m.must(b.cmd.Process.Signal(by))
	err := b.cmd.Wait()
	if by == syscall.SIGTERM && err != nil {
		b.m.Errorf("%s was told to stop: %v\n%s", b.name, err, b.said.String())
	}
}

func (b *member) end() {
	b.die(syscall.SIGTERM)
	if b.relay != nil {
		b.relay.close()
	}
}

// cluster makes three boxes one, as people do. With a delay there is a relay before each.
func (m *trio) cluster(delay *atomic.Int64) (all []*member, end func()) {
	m.Helper()
	for i := range 3 {
		b := m.newMember(string(rune('a' + i)))
		host := fmt.Sprintf("127.0.11.%d", i+1)
		b.listen = m.free(host)
		address := b.listen
		if delay != nil {
			b.relay = newRelay(m.T, fmt.Sprintf("127.0.12.%d:0", i+1), b.listen, delay)
			address = b.relay.listener.Addr().String()
		}
		m.must(os.WriteFile(filepath.Join(b.base, "signalbox.yaml"), fmt.Appendf(nil, "listen: %s\ntls: {always: true}\n", b.listen), 0o600))
		if i == 0 {
			b.run("cluster", "init", "--name", b.name, "--address", address)
		} else {
			b.run("cluster", "join", all[0].run("cluster", "invite", b.name), "--address", address)
		}
		b.start()
		all = append(all, b)
	}
	m.healthy(all)
	return all, func() {
		for _, b := range all {
			b.end()
		}
	}
}

// healthy returns who leads, first, and the others, once all vote and have all that is recorded.
func (m *trio) healthy(all []*member) (ordered []*member) {
	m.Helper()
	var s api.ClusterStatus
	var err error
	for range 1200 {
		if s, err = all[0].client.Cluster(m.Context()); err == nil && s.Leader != "" {
			well := 0
			for _, o := range s.Members {
				if o.Role == api.RoleVoter && (o.State == api.MemberLeads || o.State == api.MemberFollows && o.Lag < 10) {
					well++
				}
			}
			if well == len(all) {
				ordered = slices.Clone(all)
				slices.SortStableFunc(ordered, func(x, y *member) int {
					return strings.Compare(strconv.FormatBool(y.name == s.Leader), strconv.FormatBool(x.name == s.Leader))
				})
				return ordered
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	m.Fatalf("the three boxes did not come to lead and follow: %+v, %v", s, err)
	return nil
}

// board has the figures of all rounds: by figure, then by place.
type board map[string]map[string][]float64

func (f board) add(figure, place string, v float64) {
	if f[figure] == nil {
		f[figure] = map[string][]float64{}
	}
	f[figure][place] = append(f[figure][place], v)
}

// say returns the medians, and the ratios to the first place: their median, and the smallest and the largest.
func (f board) say(figures, places []string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "| | %s |\n|---|%s\n", strings.Join(places, " | "), strings.Repeat("---|", len(places)))
	for _, figure := range figures {
		fmt.Fprintf(&s, "| %s |", figure)
		base := f[figure][places[0]]
		for _, place := range places {
			of := f[figure][place]
			if len(of) == 0 {
				s.WriteString(" |")
				continue
			}
			fmt.Fprintf(&s, " %s", short(median(slices.Clone(of))))
			if len(base) == len(of) && place != places[0] && slices.Min(base) > 0 {
				ratios := make([]float64, len(of))
				for i := range of {
					ratios[i] = of[i] / base[i]
				}
				mid := median(ratios) // it sorts them
				fmt.Fprintf(&s, "; %s (%s to %s)", short(mid), short(ratios[0]), short(ratios[len(ratios)-1]))
			}
			s.WriteString(" |")
		}
		s.WriteString("\n")
	}
	return s.String()
}

func short(f float64) string {
	if f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 2, 64)
}

// load has clients add items and hand them over, at boxes in turn, and adds what came of it to the board. All are the processes whose processor time it takes.
func (m *trio) load(f board, place, name string, at, all []*member, clients, items int) {
	m.Helper()
	o := Options{Clients: clients, Items: items}
	rate, took, err := o.timed(m.Context(), items, func(ctx context.Context, i int) error {
		_, err := at[i%len(at)].client.Add(ctx, api.AddWork{ID: fmt.Sprintf("%s-%d", name, i), Title: madeUpTitle, Phase: phases[0]})
		return err
	})
	m.must(err)
	f.add("appends/s", place, rate)
	f.add("append, p50 ms", place, ms(took[len(took)/2]))
	f.add("append, p99 ms", place, ms(took[len(took)*99/100]))
	spent, own := m.ran(all), ownTime()
	outputs := outputs()
	n := items * len(phases)
	rate, took, err = o.timed(m.Context(), n, func(ctx context.Context, i int) error {
		client := at[i%len(at)].client
		g, err := client.Claim(ctx, api.Claim{Actor: "bench", Wait: true})
		if err != nil {
			return err
		}
		return accepted(client.Emit(ctx, g.Session, outputs[g.Phase]))
	})
	m.must(err)
	f.add("handoffs/s", place, rate)
	f.add("handoff, p50 ms", place, ms(took[len(took)/2]))
	f.add("handoff, p99 ms", place, ms(took[len(took)*99/100]))
	for i, now := range m.ran(all) {
		spent[i] = now - spent[i]
	}
	total := time.Duration(0)
	for _, s := range spent {
		total += s
	}
	f.add("processor of the boxes, ms a handoff", place, perEach(total, n))
	f.add("of it the one that decides", place, perEach(spent[0], n))
	f.add("processor of the clients, ms a handoff", place, perEach(ownTime()-own, n))
}

var loadFigures = []string{"appends/s", "append, p50 ms", "append, p99 ms", "handoffs/s", "handoff, p50 ms", "handoff, p99 ms", "processor of the boxes, ms a handoff", "of it the one that decides", "processor of the clients, ms a handoff"}

// timed runs f as each does, and returns how many it did in a second, and how long each took, in order.
func (o Options) timed(ctx context.Context, n int, f func(context.Context, int) error) (rate float64, took []time.Duration, err error) {
	took = make([]time.Duration, n)
	begun := time.Now()
	err = o.each(ctx, n, func(ctx context.Context, i int) error {
		at := time.Now()
		err := f(ctx, i)
		took[i] = time.Since(at)
		return err
	})
	rate = float64(n) / time.Since(begun).Seconds()
	slices.Sort(took)
	return rate, took, err
}

// ran returns how long the processes were on a core.
func (m *trio) ran(all []*member) (times []time.Duration) {
	m.Helper()
	for _, b := range all {
		times = append(times, m.onCore(b))
	}
	return times
}

func (m *trio) onCore(b *member) (d time.Duration) {
	m.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), "task")
	tasks, err := os.ReadDir(dir)
	m.must(err)
	for _, task := range tasks {
		text, err := os.ReadFile(filepath.Join(dir, task.Name(), "schedstat"))
		if err != nil {
			continue // it has just ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		m.must(err)
		d += time.Duration(ns)
	}
	return d
}

// ownTime is the processor time of this process.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Where clients ask.
const (
	atOne    = "one box"
	atLeader = "the one of three that leads"
	atAll    = "all three"
	atOther  = "one of three that passes on"
)

// direct measures three boxes with nothing between them.
func (m *trio) direct(one *member) {
	m.Helper()
	all, end := m.cluster(nil)
	defer end()
	m.idling(one, m.healthy(all))
	m.load(board{}, "", "warm", []*member{one}, []*member{one}, m.clients, m.items)
	m.load(board{}, "", "warm", all, all, m.clients, m.items)
	many, single := board{}, board{}
	for round := range m.rounds {
		for turn := range 3 {
			led := m.healthy(all)
			place := [][]*member{{one}, led[:1], led}[(round+turn)%3]
			name := []string{atOne, atLeader, atAll}[(round+turn)%3]
			counted := led
			if name == atOne {
				counted = place
			}
			m.load(many, name, fmt.Sprintf("many-%d-%d", round, turn), place, counted, m.clients, m.items)
		}
		for turn := range 3 {
			led := m.healthy(all)
			place := [][]*member{{one}, led[:1], led[1:2]}[(round+turn)%3]
			name := []string{atOne, atLeader, atOther}[(round+turn)%3]
			counted := led
			if name == atOne {
				counted = place
			}
			m.load(single, name, fmt.Sprintf("single-%d-%d", round, turn), place, counted, 1, m.alone)
		}
	}
	m.Logf("%d rounds on %d cores, %s; %d clients; figures are medians, then ratios to one box in the same round, and the smallest and the largest:\n%s", m.rounds, runtime.NumCPU(), machineLoad(), m.clients, many.say(loadFigures, []string{atOne, atLeader, atAll}))
	m.Logf("one client:\n%s", single.say(loadFigures, []string{atOne, atLeader, atOther}))
	if len(many) != len(loadFigures) || len(single) != len(loadFigures) {
		m.Errorf("not all was measured: %v, %v", many, single)
	}
	m.silences(all)
}

func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + strings.Join(strings.Fields(string(text))[:3], " ")
}

// far measures three boxes with a relay between them, which holds what they say for a while.
func (m *trio) far(one *member) {
	m.Helper()
	var delay atomic.Int64
	all, end := m.cluster(&delay)
	defer end()
	m.load(board{}, "", "far-warm", all, all, m.clients, m.items)
	delays := []int{0, 1, 10}
	if *clusters == 0 {
		delays = delays[1:2]
	}
	places := []string{atOne}
	for _, d := range delays {
		places = append(places, fmt.Sprintf("leads, %d ms", d), fmt.Sprintf("all, %d ms", d))
	}
	many := board{}
	single := board{}
	for round := range m.rounds {
		m.load(many, atOne, fmt.Sprintf("far-%d", round), []*member{one}, []*member{one}, m.clients, m.items)
		m.load(single, atOne, fmt.Sprintf("far-one-%d", round), []*member{one}, []*member{one}, 1, m.alone)
		for turn := range delays {
			d := delays[(round+turn)%len(delays)]
			delay.Store(int64(time.Duration(d) * time.Millisecond))
			led := m.healthy(all)
			m.load(many, fmt.Sprintf("leads, %d ms", d), fmt.Sprintf("far-a-%d-%d", round, turn), led[:1], led, m.clients, m.items)
			m.load(many, fmt.Sprintf("all, %d ms", d), fmt.Sprintf("far-b-%d-%d", round, turn), led, led, m.clients, m.items)
			m.load(single, fmt.Sprintf("leads, %d ms", d), fmt.Sprintf("far-c-%d-%d", round, turn), led[:1], led, 1, m.alone)
			m.load(single, fmt.Sprintf("all, %d ms", d), fmt.Sprintf("far-d-%d-%d", round, turn), led, led, 1, m.alone)
		}
	}
	m.Logf("a relay between the boxes, in the clients' process, which holds what is said each way, %s; %d clients:\n%s", machineLoad(), m.clients, many.say(loadFigures, places))
	m.Logf("the relay, one client:\n%s", single.say(loadFigures, places))
}

// idling measures boxes that do nothing.
func (m *trio) idling(one *member, led []*member) {
	m.Helper()
	boxes := []*member{one, led[0], led[1]}
	time.Sleep(m.settle)
	f := board{}
	places := []string{atOne, "the one of three that leads", "one that follows"}
	for range m.rounds {
		before := m.ran(boxes)
		time.Sleep(m.idle)
		for i, now := range m.ran(boxes) {
			f.add("idle: processor, ms a second", places[i], 1000*(now-before[i]).Seconds()/m.idle.Seconds())
			f.add("idle: memory, resident, MB", places[i], m.megabytes(boxes[i].running, "VmRSS:"))
			f.add("idle: memory, its own, MB", places[i], m.megabytes(boxes[i].running, "RssAnon:"))
		}
	}
	m.Logf("boxes with nothing to do, %s:\n%s", machineLoad(), f.say([]string{"idle: processor, ms a second", "idle: memory, resident, MB", "idle: memory, its own, MB"}, places))
}

// askers are how many clients ask while a box dies.
const askers = 16

// silences measures for how long no request is answered when the box that leads dies, and when it is told to stop.
func (m *trio) silences(all []*member) {
	m.Helper()
	for _, kind := range []struct {
		name string
		by   syscall.Signal
	}{{"killed", syscall.SIGKILL}, {"told to stop", syscall.SIGTERM}} {
		var gaps []float64
		for n := range m.deaths {
			gaps = append(gaps, ms(m.silence(all, fmt.Sprintf("silence-%d-%d", kind.by, n), kind.by)))
		}
		slices.Sort(gaps)
		m.Logf("the box that leads is %s, %d times; %d clients ask all boxes; nothing is answered for p50 %.0f ms, at most %.0f ms (%.0f; %s)", kind.name, len(gaps), askers, gaps[len(gaps)/2], gaps[len(gaps)-1], gaps, machineLoad())
	}
}

func (m *trio) silence(all []*member, name string, by syscall.Signal) time.Duration {
	m.Helper()
	led := m.healthy(all)
	var clients []*api.Client
	for _, b := range led {
		clients = append(clients, b.client.WithPatience(0))
	}
	ctx, stop := context.WithCancel(m.Context())
	defer stop()
	var mu sync.Mutex
	var answered []time.Time
	var died atomic.Pointer[time.Time]
	after := make(chan struct{}) // closed when each client was answered after the death
	var waiting sync.WaitGroup
	waiting.Add(askers)
	go func() {
		waiting.Wait()
		close(after)
	}()
	var asking sync.WaitGroup
	for who := range askers {
		asking.Go(func() {
			once := sync.OnceFunc(waiting.Done)
			defer once()
			for i := 0; ctx.Err() == nil; i++ {
				asked := time.Now()
				_, err := clients[(who+i)%len(clients)].Add(ctx, api.AddWork{ID: fmt.Sprintf("%s-%d-%d", name, who, i), Title: madeUpTitle, Phase: phases[0]})
				if err != nil {
					time.Sleep(time.Millisecond) // another box is asked
					continue
				}
				mu.Lock()
				answered = append(answered, time.Now())
				mu.Unlock()
				if d := died.Load(); d != nil && asked.After(*d) {
					once()
				}
			}
		})
	}
	time.Sleep(m.before)
	now := time.Now()
	died.Store(&now)
	led[0].die(by)
	<-after // what would never come runs into the test's time
	time.Sleep(m.before)
	stop()
	asking.Wait()
	led[0].start()
	slices.SortFunc(answered, time.Time.Compare)
	gap := time.Duration(0)
	for i := 1; i < len(answered); i++ {
		if answered[i].After(now) {
			gap = max(gap, answered[i].Sub(answered[i-1]))
		}
	}
	return gap
}
