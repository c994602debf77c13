// Package archtest keeps the structure of the module: who may import what, what
// every package has, and what none may do. Its test runs over the module's own
// sources, and over the pages that name parts of them.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/signalbox-dev/signalbox"

// public packages are for everyone to import, so they stand alone.
var public = []string{"agentformat", "agentsig", "bt", "bt/groot", "bt/lua", "bt/signals", "ledger", "safetext"}

// standardOnly packages import nothing but the standard library, and each other.
var standardOnly = []string{"agentformat", "agentsig", "bt", "bt/signals", "safetext"}

// pure packages decide and do nothing else: time, order and chance come to them
// as values.
var pure = []string{"bt/signals", "internal/english", "internal/work", "internal/delivery", "internal/plan", "internal/conversation", "internal/access", "internal/trailer", "internal/rehearsal", "internal/agentreply", "internal/jsontext", "internal/qr", "internal/stats", "internal/member", "internal/member/memberlog",
	"internal/portfolio", "internal/portfolio/lots", "internal/portfolio/exitrule", "internal/portfolio/reply", "internal/portfolio/exitsignal", "internal/portfolio/harvest", "internal/portfolio/report", "internal/portfolio/listing", "internal/portfolio/beancount"}

// impure is what a pure package may not import, and not name of package time.
var (
	impure      = []string{"context", "crypto/rand", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "sync", "sync/atomic"}
	impureClock = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}
)

// owners says which package may use an outside module, or a part of the
// standard library that reaches outside the process.
var owners = map[string][]string{
	"github.com/anthropics/anthropic-sdk-go": {"internal/oracle/model"},
	"github.com/arnodel/golua":               {"bt/lua"},
	"github.com/bluekeyes/go-gitdiff":        {"internal/web"},
	"github.com/cockroachdb/apd/v3":          {"internal/portfolio"},
	"github.com/modelcontextprotocol/go-sdk": {"internal/mcpserver", "internal/oracle/toolbox"},
	"github.com/openai/openai-go/v3":         {"internal/oracle/model"},
	"github.com/oklog/ulid/v2":               {"internal/box"},
	"github.com/prometheus/client_golang":    {"internal/telemetry"},
	"github.com/prometheus/common":           {"internal/telemetry"},
	"github.com/spf13/cobra":                 {"internal/cli", "internal/portfolio/cli", "internal/command"},
	"github.com/spf13/pflag":                 {"internal/cli", "internal/command"},
	"go.etcd.io/raft/v3":                     {"internal/member"},
	"go.yaml.in/yaml/v3":                     {"internal/config", "internal/portfolio/settings"},
	"google.golang.org/protobuf":             {"internal/member"},
	"golang.org/x/mod":                       {"ledger"},
	"golang.org/x/sync":                      {"internal/httpapi"},
	"golang.org/x/sys":                       {"internal/sandbox", "internal/nettest"},
	"golang.org/x/term":                      {"internal/command"},
	"modernc.org/sqlite":                     {"internal/portfolio/store"},
	"os/exec":                                {"internal/mutant", "internal/mutant/due", "internal/doctest", "internal/gittest", "internal/nettest", "internal/mcpserver/mcptest", "internal/bench", "internal/process", "internal/worktree", "internal/config", "internal/sandbox", "internal/inventory"},
}

// deciding are the packages that record and decide. What reaches outside is the runner's and the server's.
var deciding = []string{"internal/box", "internal/conductor", "internal/order"}

// doing is what they may not import.
var doing = []string{"net/http", "os/exec", module + "/internal/gate", module + "/internal/process", module + "/internal/sandbox", module + "/internal/session", module + "/internal/worktree"}

// testSupport packages are imported by tests only.
var testSupport = []string{"internal/doctest", "internal/gittest", "internal/nettest", "internal/mutant", "internal/archtest", "internal/engine/enginetest", "internal/archive/archivetest", "internal/conductor/conductortest", "internal/mcpserver/mcptest", "internal/pin/pintest"}

// file is one source file that is not a test.
type file struct {
	name string // from the module's root, with slashes
	ast  *ast.File
	fset *token.FileSet
}

func (f file) dir() string { return path.Dir(f.name) }

func (f file) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.name, f.fset.Position(pos).Line)
}

// load reads the module's sources below root.
func load(root string) ([]file, error) {
	var files []file
	fsys := os.DirFS(root)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name == "." {
				return nil
			}
			if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil || strings.HasPrefix(base, ".") || base == "testdata" {
				return fs.SkipDir // another module, or nothing of this one
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		f, err := parse(name, data)
		files = append(files, f)
		return err
	})
	return files, err
}

func parse(name string, data []byte) (file, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	return file{name, tree, fset}, err
}

// check returns what is wrong with the files, in words.
func check(files []file) []string {
	var wrong []string
	documented, dirs := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		dirs[f.dir()] = true
		documented[f.dir()] = documented[f.dir()] || f.ast.Doc.Text() != ""
		wrong = append(wrong, checkImports(f)...)
		wrong = append(wrong, checkCode(f)...)
	}
	for dir := range dirs {
		if !documented[dir] {
			wrong = append(wrong, dir+": the package has no comment")
		}
		switch base := path.Base(dir); base {
		case "util", "utils", "pkg", "common", "helpers", "misc":
			wrong = append(wrong, dir+": a package names one thing, and "+base+" names none")
		}
	}
	slices.Sort(wrong)
	return wrong
}

func checkImports(f file) (wrong []string) {
	for _, spec := range f.ast.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		say := func(why string) { wrong = append(wrong, f.at(spec.Pos())+": imports "+imported+": "+why) }
		inside, isOurs := strings.CutPrefix(imported, module+"/")
		first, _, _ := strings.Cut(imported, "/")
		outside := !isOurs && strings.Contains(first, ".")
		if isOurs && slices.Contains(public, f.dir()) && strings.HasPrefix(inside, "internal/") {
			say("a public package stands alone")
		}
		if (isOurs && !slices.Contains(standardOnly, inside) || outside) && slices.Contains(standardOnly, f.dir()) {
			say("this package uses the standard library only, and others that do")
		}
		if isOurs && slices.Contains(testSupport, inside) {
			say("only tests may")
		}
		if slices.Contains(pure, f.dir()) && slices.Contains(impure, imported) {
			say("a pure package takes it as a value")
		}
		if slices.Contains(deciding, f.dir()) && slices.Contains(doing, imported) {
			say("who decides gives orders to internal/runner")
		}
		owned := false
		for dependency, dirs := range owners {
			if imported == dependency || strings.HasPrefix(imported, dependency+"/") {
				owned = true
				if !slices.Contains(dirs, f.dir()) {
					say("only " + strings.Join(dirs, ", ") + " may")
				}
			}
		}
		if outside && !owned {
			say("no package owns it; name one in archtest, and the reason in docs/dependencies.md")
		}
	}
	return wrong
}

func checkCode(f file) (wrong []string) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				wrong = append(wrong, f.at(n.Pos())+": has an init function; make it a value or call it")
			}
		case *ast.GoStmt:
			if slices.Contains(pure, f.dir()) {
				wrong = append(wrong, f.at(n.Pos())+": starts a goroutine in a pure package")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(impureClock, n.Sel.Name) && slices.Contains(pure, f.dir()) {
				wrong = append(wrong, f.at(n.Pos())+": reads the clock in a pure package; take the time as a value")
			}
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "os" && n.Sel.Name == "Exit" && f.ast.Name.Name != "main" {
				wrong = append(wrong, f.at(n.Pos())+": calls os.Exit outside main; return an error")
			}
		}
		return true
	})
	return wrong
}
