//go:build unix

package toolbox

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what a model may see, dropped, is noticed.
func TestMutants(t *testing.T) {
	const asked = "^TestArguments$|^TestReadOnly$|^TestUnknown$"
	const all = "^TestHidden|^TestRootIsHidden$|^TestDeep$"
	mutant.All(t, []mutant.Noticed{
		{By: asked, Mutant: mutant.Mutant{Name: "a tool of which its server says nothing changes nothing", File: "server.go", Old: "return hints != nil && hints.ReadOnlyHint &&", New: "return hints == nil || hints.ReadOnlyHint &&"}},
		{By: asked, Mutant: mutant.Mutant{Name: "a server's contradiction is believed", File: "server.go", Old: " && (hints.DestructiveHint == nil || !*hints.DestructiveHint)", New: ""}},
		{By: asked, Mutant: mutant.Mutant{Name: "a name may be there twice", File: "arguments.go", Old: "if names[t] {", New: "if false {"}},
		{By: asked, Mutant: mutant.Mutant{Name: "a call that was not answered has a known end", File: "server.go", Old: "r.Unknown = true", New: ""}},
		{By: all, Mutant: mutant.Mutant{Name: "only names hide a directory", File: "code.go", Old: "case hide.have(info) || isBox(dir):", New: "case isBox(dir):"}},
		{By: all, Mutant: mutant.Mutant{Name: "another box's directory is read", File: "code.go", Old: "case hide.have(info) || isBox(dir):", New: "case hide.have(info):"}},
		{By: all, Mutant: mutant.Mutant{Name: "a second name of a hidden file is read", File: "code.go", Old: "case hide.have(info):", New: "case false:"}},
		{By: all, Mutant: mutant.Mutant{Name: "what lies in a hidden directory has no other names", File: "hidden.go", Old: "within = append(within, info)", New: "_ = info"}},
		{By: all, Mutant: mutant.Mutant{Name: "what is hidden is forgotten when it is moved", File: "hidden.go", Old: "return append(within, h.led...), nil", New: "all := append(within, h.led...)\n\th.led = nil\n\treturn all, nil"}},
		{By: all, Mutant: mutant.Mutant{Name: "a link that took a directory's place is followed", File: "code.go", Old: "case !os.SameFile(before, info):\n\t\terr = errChanged\n\tcase hide.have(info) || isBox(dir):", New: "case before == nil:\n\tcase hide.have(info) || isBox(dir):"}},
		{By: all, Mutant: mutant.Mutant{Name: "the top lies in a box", File: "hidden.go", Old: "case all.have(info):", New: "case all.have(info) && false:"}},
		{By: all, Mutant: mutant.Mutant{Name: "the top is another box's", File: "hidden.go", Old: "if isBox(root) {", New: "if false {"}},
		{By: all, Mutant: mutant.Mutant{Name: "any number of directories is held open", File: "code.go", Old: "if len(w.names) == maxDepth {", New: "if false {"}},
	})
}
