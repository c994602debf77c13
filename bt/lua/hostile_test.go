package lua

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
)

// A hostile script may take a process this much, all in all. Of the time only as much counts as the process was at work: on a busy
// machine it waits for a processor.
const (
	hostileTime   = 5 * time.Second // each time it is run
	hostileMemory = 100 << 20
)

var hostileWhole = flag.Bool("hostile", false, "each hostile source as a file and as a script that may take a second; otherwise one in four is read as a file, and scripts may take less")

// victim is set in a process that runs one hostile script: to how long it may take, whether it is read as a file too, and its path.
const victim = "LUA_TEST_HOSTILE"

func TestMain(m *testing.M) {
	if spec := os.Getenv(victim); spec != "" {
		var v attack
		if err := json.Unmarshal([]byte(spec), &v); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		v.suffer()
		return
	}
	os.Exit(m.Run())
}

// attack is what a process does with a hostile source.
type attack struct {
	Path   string
	File   bool          // it is read as a file too, and not run as a script alone
	Script time.Duration // how long the script may take
}

// suffering is what a process tells of a hostile script.
type suffering struct {
	Load, Run      string // how it ended
	LoadTime, Time time.Duration
	Memory         int64
	Before, GoesOn bool // other scripts run, before and after
	Succeeds       bool
}

// suffer loads a hostile file as a tree, if it is to, and runs it as a script.
func (v attack) suffer() {
	source, err := os.ReadFile(v.Path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var s suffering
	s.Before = goesOn()
	if v.File {
		took := stopwatch()
		tree, err := Load(context.Background(), "hostile.lua", source)
		s.LoadTime, s.Load = took(), "loaded"
		if err == nil {
			_, err = bt.Compile(tree, bt.Library{Functions: map[string]bt.Leaf{"f": {}}})
		}
		if err != nil {
			s.Load = err.Error()
		}
	}
	took := stopwatch()
	status, note := runScript(bt.Script{Source: string(source), Timeout: v.Script})
	s.Time, s.Run = took(), note
	s.Succeeds = status != bt.Failure
	s.GoesOn = goesOn()
	s.Memory = peakMemory()
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		os.Exit(1)
	}
}

// stopwatch begins to measure. It returns the time since then, or what the process had of the processors, whichever is less.
func stopwatch() (took func() time.Duration) {
	began, had := time.Now(), processorTime()
	return func() time.Duration { return min(time.Since(began), processorTime()-had) }
}

// goesOn reports whether ordinary files and scripts work.
func goesOn() bool {
	_, err := Load(context.Background(), "good.lua", []byte(`BT.tree("good", { root = BT.action("x", { fn = "f" }) })`))
	status, _ := runScript(bt.Script{Source: `local t = {} for i = 1, 100 do t[i] = ("%d"):format(i) end return #table.concat(t) == 192`})
	return err == nil && status == bt.Success
}

// runScript runs a script as the only node of a tree, and returns what the trace says.
func runScript(s bt.Script) (bt.Status, string) {
	tree := bt.Tree{Name: "t", Blackboard: bt.Schema{"key": "any"}, Root: bt.RunScript("hostile", s)}
	program, err := bt.Compile(tree, bt.Library{Script: Script})
	if err != nil {
		return bt.Failure, err.Error()
	}
	note := ""
	run := program.Start(bt.Options{Trace: func(_ int, _ time.Duration, entries []bt.Entry) {
		for _, e := range entries {
			note += e.Note
		}
	}})
	defer run.Close()
	status, err := run.Drive(context.Background())
	if err != nil {
		note += err.Error()
	}
	return status, note
}

// peakMemory returns the most that the process has had.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.Sys)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// generated are hostile sources that are too large, or no text, for a file.
func generated() map[string]string {
	many := strings.Repeat
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", strconv.Itoa(i)))
		}
		return b.String()
	}
	return map[string]string{
		"source_10_megabytes":   many("x = 1 ", 10<<20/6),
		"source_256_kilobytes":  many("a=b ", 256<<10/4),
		"source_binary":         "\x1bLua\x54\x00\x19\x93\r\n\x1a\n" + many("\x00\xff", 1000),
		"source_binary_golua":   "\u0000golua\x01",
		"source_unfinished":     "x = [==[" + many("]=]", 50000),
		"source_quotes":         many(`x = "`, 40000),
		"source_comment":        many("--[[", 50000),
		"parse_parentheses":     "x = " + many("(", 12000) + "1" + many(")", 12000),
		"parse_tables":          "x = " + many("{", 12000) + many("}", 12000),
		"parse_functions":       "x = " + many("function() return ", 9000) + "1" + many(" end", 9000),
		"parse_blocks":          many("do ", 10000) + many("end ", 10000),
		"parse_whiles":          many("while x do ", 10000) + many("end ", 10000),
		"parse_ifs":             many("if x then ", 10000) + many("end ", 10000),
		"parse_repeats":         many("repeat ", 10000) + many("until x ", 10000),
		"parse_unary":           "x = " + many("- ", 12000) + "1",
		"parse_not":             "x = " + many("not ", 12000) + "1",
		"parse_concatenations":  "x = a" + many("..a", 12000),
		"parse_powers":          "x = 2" + many("^2", 12000),
		"parse_sums":            "x = a" + many("+a", 12000),
		"parse_comparisons":     "x = a" + many("<a", 12000),
		"parse_calls":           "x = a" + many("()", 12000),
		"parse_string_calls":    "x = a" + many(`""`, 12000),
		"parse_table_calls":     "x = a" + many("{}", 12000),
		"parse_indexes":         "x = a" + many(".b", 12000),
		"parse_brackets":        "x = a" + many("[1]", 12000),
		"parse_mixed_depth":     "x = " + many("- ( - { ", 5000) + "1" + many("})", 5000),
		"compile_arguments":     "f(" + many("1,", 24000) + "1)",
		"compile_elseifs":       "if x then " + many("elseif x then ", 16000) + "end",
		"compile_locals":        numbered(15000, "local a# "),
		"compile_local_list":    "local " + numbered(20000, "a#,") + "z",
		"compile_upvalues":      numbered(180, "local a# ") + "return function() return " + numbered(180, "a#,") + "1 end",
		"compile_constants":     "x = {" + numbered(20000, "#.5,") + "}",
		"compile_labels":        numbered(12000, "::l#:: "),
		"compile_gotos":         numbered(6000, "goto l# ") + numbered(6000, "::l#:: "),
		"compile_functions":     many("function f() end ", 9000),
		"compile_statements":    many("a=b ", 16000),
		"compile_ands":          "x = a" + many(" and a", 400),
		"compile_sums":          "x = 1" + many("+1", 400) + many(" y = 1"+many("+1", 400), 50),
		"compile_deep":          many("do ", 900) + many("a=b ", 10000) + many("end ", 900),
		"compile_deep_closures": "x = " + many("function(a) return ", 150) + "a" + many(" end", 150),
		"compile_long_loop":     "while x do " + many("a=b ", 12000) + "end",
		"literal_digits":        "x = " + many("9", 250000),
		"literal_hexadecimal":   "x = 0x" + many("f", 250000),
		"literal_exponent":      "x = 1e" + many("9", 250000),
		"literal_escapes":       `x = "` + many(`\u{7fffffff}`, 20000) + `"`,
	}
}

func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	files, err := filepath.Glob("testdata/hostile/*.lua")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	dir := t.TempDir()
	binary := ordinary(t, dir)
	for name, source := range generated() {
		path := filepath.Join(dir, name+".lua")
		if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	var mu sync.Mutex
	var report bytes.Buffer
	w := tabwriter.NewWriter(&report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "script\tload\tscript\tMB\thow it ended")
	t.Run("all", func(t *testing.T) {
		for i, path := range files {
			name := strings.TrimSuffix(filepath.Base(path), ".lua")
			v := attack{path, true, time.Second}
			if !*hostileWhole {
				v.File, v.Script = i%4 == 0 || strings.HasPrefix(name, "parse_"), 250*time.Millisecond
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := v.torture(t, binary)
				mu.Lock()
				defer mu.Unlock()
				how := s.Run
				if len(how) > 90 {
					how = how[:90] + "…"
				}
				fmt.Fprintf(w, "%s\t%.2f s\t%.2f s\t%d\t%s\n", name, s.LoadTime.Seconds(), s.Time.Seconds(), s.Memory>>20, how)
			})
		}
	})
	w.Flush()
	t.Logf("\n%s", &report)
}

// ordinary returns this test without the race detector, which takes several times as much of
// everything.
func ordinary(t *testing.T, dir string) string {
	if !raceEnabled {
		return os.Args[0]
	}
	binary := filepath.Join(dir, "ordinary.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// torture has a process of its own run a hostile script.
func (v attack) torture(t *testing.T, binary string) suffering {
	t.Helper()
	spec, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(os.Environ(), victim+"="+string(spec))
	out, err := cmd.CombinedOutput()
	var s suffering
	if err != nil || json.Unmarshal(out, &s) != nil {
		t.Fatalf("the process has not survived: %v\n%.2000s", err, out)
	}
	if !s.Before || !s.GoesOn {
		t.Errorf("ordinary scripts: before %t, after %t", s.Before, s.GoesOn)
	}
	if s.Succeeds {
		t.Errorf("as a script it succeeds: %s", s.Run)
	}
	if s.Load == "loaded" {
		t.Error("as a file it is a tree")
	}
	if strings.HasPrefix(filepath.Base(v.Path), "parse_") && !strings.Contains(s.Load, "too deep in each other") {
		t.Errorf("the parser was let at it: %s", s.Load)
	}
	for _, text := range []string{s.Load, s.Run} {
		if len(text) > 10*maxErrorText || strings.ContainsAny(text, "\x1b\x00") {
			t.Errorf("its text is %d bytes long, or not escaped: %.200q", len(text), text)
		}
	}
	if max(s.LoadTime, s.Time) > hostileTime || s.Memory > hostileMemory {
		t.Errorf("it takes %v and %v, and %d MB", s.LoadTime, s.Time, s.Memory>>20)
	}
	return s
}

// No script survives a limit, whatever it catches.
func TestLimitsAreFinal(t *testing.T) {
	for _, use := range []struct{ source, limit string }{
		{`while true do end`, "200000 steps"},
		{`local s = "x" while true do s = s .. s end`, "1024 KiB of memory"},
		{`return ("x"):rep(1 << 29)`, "1024 KiB of memory"},
		{`return (("a"):rep(10000)):find(".-.-.-.-b")`, "200000 steps"},
		{`local t = setmetatable({}, { __index = function(t, k) return t[k] end }) return t.x`, "its calls lie too deep in each other"},
	} {
		for _, try := range []string{
			`pcall(use)`,
			`pcall(pcall, pcall, use)`,
			`xpcall(use, function() end)`,
			`xpcall(pcall, print, use)`,
			`pcall(function() local x <close> = setmetatable({}, { __close = function() end }) use() end)`,
			`pcall(table.sort, { 2, 1 }, use)`,
			`pcall(string.gsub, "x", "x", use)`,
			`pcall(function() return setmetatable({}, { __index = use }).x end)`,
			`pcall(tostring, setmetatable({}, { __tostring = use }))`,
		} {
			source := "local function use() " + use.source + " end\n" + try + "\nsurvived()"
			c, err := compile("limit.lua", []byte(source))
			if err != nil {
				t.Fatal(err)
			}
			survived := function(func(call) (any, error) {
				t.Errorf("it went on after its limit:\n%s", source)
				return nil, nil
			})
			_, err = c.run(t.Context(), map[string]any{"survived": survived}, limits{time.Minute, 200_000, 1 << 20})
			if !errors.Is(err, ErrLimit) || !strings.HasSuffix(err.Error(), use.limit) {
				t.Errorf("got %v, want %s:\n%s", err, use.limit, source)
			}
		}
	}
}

// Tables and functions count, though the interpreter does not count them.
func TestAllocationsCount(t *testing.T) {
	for _, source := range []string{
		`local t for i = 1, 20000 do t = { t } end`,
		`local f for i = 1, 20000 do local g = f f = function() return g end end`,
	} {
		c, err := compile("count.lua", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.run(t.Context(), nil, limits{time.Minute, 1 << 60, 1 << 20}); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: got %v", source, err)
		}
	}
}

// A run ends when its context does, wherever it is.
func TestCancel(t *testing.T) {
	over, end := context.WithCancel(context.Background())
	end()
	if _, err := Load(over, "x.lua", []byte(`BT.tree("t", { root = BT.action("x", { fn = "f" }) })`)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over: %v", err)
	}
	for _, source := range []string{
		`stop() while true do end`,
		`stop() local function f() return f() end f()`,
		`stop() pcall(function() while true do end end) while true do end`,
		`stop() return (("a"):rep(100000)):find(".-.-.-.-.-.-.-b")`,
		`stop() local t = setmetatable({}, { __index = function(t, k) return 1 end }) while true do local x = t.x end`,
		`stop() table.sort({ 3, 2, 1 }, function(a, b) while true do end end)`,
	} {
		ctx, cancel := context.WithCancel(context.Background())
		c, err := compile("cancel.lua", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		stop := function(func(call) (any, error) { cancel(); return nil, nil })
		_, err = c.run(ctx, map[string]any{"stop": stop}, limits{time.Hour, 1 << 60, 1 << 40})
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// Time ends a run that has steps left.
func TestTime(t *testing.T) {
	c, err := compile("time.lua", []byte("while true do end"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.run(t.Context(), nil, limits{50 * time.Millisecond, 1 << 60, 1 << 20})
	if want := "time.lua:1: it uses more than it may: 50ms of time"; err == nil || err.Error() != want || !errors.Is(err, ErrLimit) {
		t.Errorf("got %v, want %s", err, want)
	}
}
