package plugin

import "path"

// In is a program's directory in memory.
func In(files map[string][]byte) Found {
	f := Found{files: files, dirs: map[string]bool{".": true}}
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			f.dirs[dir] = true
		}
	}
	return f
}

// In carries a plan out in memory.
func (p Plan) In(files map[string][]byte) {
	for _, s := range p.Steps {
		switch {
		case s.Action == Leave:
		case s.after == nil:
			delete(files, s.Path)
		default:
			files[s.Path] = s.after
		}
	}
}
