package modeltest

import (
	"fmt"
	"path"
	"strings"
)

// translate finds the tool that a request offers for a verb, and its arguments.
func translate(p part, a *ask) (content, error) {
	if p.verb == "calls" {
		return content{tool: p.name, text: string(p.args)}, nil
	}
	file := p.name
	if dir := a.dir(); dir != "" && !path.IsAbs(file) {
		file = path.Join(dir, file)
	}
	for _, t := range a.tools {
		if text, ok := arguments(p, t, file); ok {
			return content{tool: t.name, custom: t.custom, text: text}, nil
		}
	}
	for _, t := range a.tools {
		if text, ok := arguments(part{verb: "runs", text: fileCommand(p)}, t, file); ok && isCodexShell(t.name) {
			return content{tool: t.name, text: text}, nil
		}
	}
	var offered []string
	for _, t := range a.tools {
		offered = append(offered, t.name)
	}
	return content{}, fmt.Errorf("the request offers no tool for %q, only %s", p.verb+":", quote(strings.Join(offered, ", ")))
}

// arguments makes the call of a tool if it is one for the verb. The names are those of
// Claude Code, Codex, Gemini CLI and OpenCode.
func arguments(p part, t tool, file string) (string, bool) {
	var args object
	switch p.verb + " " + t.name {
	case "runs Bash", "runs bash", "runs run_shell_command":
		args = object{"command": p.text, "description": "As the script says"}
	case "runs exec_command":
		args = object{"cmd": p.text}
	case "runs shell_command":
		args = object{"command": p.text}
	case "runs shell":
		args = object{"command": []string{"bash", "-c", p.text}}
	case "writes Write", "writes write_file":
		args = object{"file_path": file, "content": p.text}
	case "writes write":
		args = object{"filePath": file, "content": p.text}
	case "writes apply_patch":
		if t.custom {
			return addFile(p), true
		}
		args = object{"input": addFile(p)}
	case "reads Read", "reads read_file":
		args = object{"file_path": file}
	case "reads read":
		args = object{"filePath": file}
	default:
		return "", false
	}
	return string(encode(args)), true
}

// isCodexShell reports whether a tool is a shell that takes the place of tools for files.
func isCodexShell(name string) bool {
	return name == "exec_command" || name == "shell_command" || name == "shell"
}

// fileCommand is what Codex's shell is told for a file. It takes apply_patch there for a
// call of a tool.
func fileCommand(p part) string {
	if p.verb == "writes" {
		return "apply_patch <<'END_OF_PATCH'\n" + addFile(p) + "END_OF_PATCH\n"
	}
	return "cat '" + strings.ReplaceAll(p.name, "'", `'\''`) + "'"
}

// addFile is Codex's form of a new file.
func addFile(p part) string {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Add File: " + p.name + "\n")
	for line := range strings.Lines(p.text) {
		b.WriteString("+" + line)
	}
	b.WriteString("*** End Patch\n")
	return b.String()
}
