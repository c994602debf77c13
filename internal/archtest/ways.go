package archtest

import (
	"go/ast"
	"regexp"
	"strings"
)

// waysTitle begins the part of ARCHITECTURE.md that walks through the code.
const waysTitle = "## Ways through the code"

var (
	waysRoom = regexp.MustCompile("^([0-9]+)\\. `([a-z/]+)`: (.*)$")
	waysName = regexp.MustCompile("`([A-Za-z]+(?:\\.[A-Za-z]+){0,2})`")
)

// checkWays holds the ways through the code against it, and returns how many functions they name. A name with the
// name of a package before its first point is of another room, which is asked and not entered.
func checkWays(text string, files []file) (wrong []string, names int) {
	functions := map[string]bool{} // as a room and its own have them, and as others do
	for _, f := range files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				functions[f.dir()+" "+receiver(fn)+fn.Name.Name] = true
				functions[f.ast.Name.Name+"."+receiver(fn)+fn.Name.Name] = true
			}
		}
	}
	_, text, _ = strings.Cut(text, waysTitle)
	text, _, _ = strings.Cut(text, "\n## ")
	entered := map[string]bool{}
	for line := range strings.Lines(text) {
		room := waysRoom.FindStringSubmatch(strings.TrimSpace(line))
		if room == nil {
			continue
		}
		if room[1] == "1" {
			clear(entered)
		}
		if entered[room[2]] {
			wrong = append(wrong, "a way through the code: "+room[2]+" is entered twice")
		}
		entered[room[2]] = true
		for _, name := range waysName.FindAllStringSubmatch(room[3], -1) {
			if names++; !functions[room[2]+" "+name[1]] && !functions[name[1]] {
				wrong = append(wrong, "a way through the code: "+room[2]+" has no "+name[1])
			}
		}
	}
	return wrong, names
}

// receiver returns the type that a method is of, with a point; "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexListExpr); ok {
		t = generic.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "."
	}
	return ""
}
