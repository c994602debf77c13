package oracle

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/oracle/question"
	"github.com/signalbox-dev/signalbox/safetext"
)

//go:embed prompts/*.md
var promptFiles embed.FS

//go:embed trees/*.lua
var treeFiles embed.FS

// TreeName is the tree that is used where none is named. ReactTree takes the first reply without
// a tool call for the answer.
const (
	TreeName  = "oracle-agent"
	ReactTree = "react"
)

// TreeNames are the trees that come with the program.
func TreeNames() []string { return []string{TreeName, ReactTree} }

// Tree returns the file of a tree that comes with the program, and false if there is none of this
// name.
func Tree(name string) ([]byte, bool) {
	if !slices.Contains(TreeNames(), name) {
		return nil, false
	}
	source, err := treeFiles.ReadFile("trees/" + name + ".lua")
	return source, err == nil
}

// Prompts are the texts that a system prompt is composed of: base, signals and tools
// always, and one by the question's class.
type Prompts map[string]string

// BuiltinPrompts are those that come with the program.
func BuiltinPrompts() (Prompts, error) {
	files, err := fs.Sub(promptFiles, "prompts")
	if err != nil {
		return nil, err
	}
	prompts, err := readPrompts(files)
	if err == nil {
		prompts[promptOfSignals] = strings.TrimSpace(agentsig.ReflectionInstructions())
	}
	return prompts, err
}

// LoadPrompts reads the files in a directory in place of the built-in texts; what is not
// there is as built in.
func LoadPrompts(dir string) (Prompts, error) {
	prompts, err := BuiltinPrompts()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory: it takes one with files such as base.md", safetext.Escape(dir))
	}
	own, err := readPrompts(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("the prompts in %s: %w", safetext.Escape(dir), err)
	}
	if len(own) == 0 {
		return nil, fmt.Errorf("%s has none of the files %s", safetext.Escape(dir), strings.Join(promptNames(), ".md, ")+".md")
	}
	for name, text := range own {
		prompts[name] = text
	}
	return prompts, nil
}

const maxPrompt = 64 << 10 // of one file

func readPrompts(files fs.FS) (Prompts, error) {
	prompts := Prompts{}
	for _, name := range promptNames() {
		data, err := fs.ReadFile(files, name+".md")
		switch {
		case os.IsNotExist(err):
			continue
		case err != nil:
			return nil, err
		case len(data) > maxPrompt:
			return nil, fmt.Errorf("%s.md has more than %d KiB", name, maxPrompt>>10)
		}
		prompts[name] = strings.TrimSpace(string(data))
	}
	return prompts, nil
}

// promptOfSignals is the text that teaches signals.
const promptOfSignals = "signals"

// alwaysPrompts are there for every class.
var alwaysPrompts = []string{"base", promptOfSignals, "tools"}

func promptNames() []string {
	names := slices.Clone(alwaysPrompts)
	for _, c := range question.Classes() {
		names = append(names, string(c))
	}
	return names
}

// Compose puts the system prompt for a class together, without the text of a name.
func (p Prompts) Compose(class question.Class, without string) string {
	var texts []string
	for _, name := range append(slices.Clone(alwaysPrompts), string(class)) {
		if name != without {
			texts = append(texts, p[name])
		}
	}
	return strings.Join(texts, "\n\n")
}

// What the model is told between its turns.
const (
	tellGoOn     = "Take the turn you asked for."
	tellDoubt    = "You have one more turn. Use it for what would make you surer, and then answer."
	tellLacking  = "You can't be given that. Go on with what you have, by yourself, and say what is missing."
	tellStuck    = "Try another way. If there is none, answer with what you have and say what is missing."
	tellContinue = "Go on. End your reply with one signal that says whether you have answered."
	tellHint     = "Your replies carry no valid signal, so nobody can tell whether you have answered. " +
		"Answer now, and end with exactly one signal, at the beginning of a line, not indented and not in a code block, such as\n\n" +
		"    <signal type=\"context_sufficient\"><sources_found>1</sources_found><confidence>0.8</confidence></signal>\n\n" +
		"or, if something is missing,\n\n" +
		"    <signal type=\"partial_answer\"><missing>what is missing</missing><confidence>0.6</confidence></signal>"
	tellLast       = "This is your last turn, and there are no more tools. Answer with what you have, and say what is missing."
	tellLastSignal = " End with a context_sufficient or partial_answer signal."
	tellLoop       = "You have called %s with the same arguments %d times, and it will not give anything else. Do something different, or answer with what you have."
)
