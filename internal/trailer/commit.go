package trailer

import (
	"crypto/sha1" //nolint:gosec // git's own name of an object
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Commit is what a git commit consists of, as far as it matters here.
type Commit struct {
	Name    string // its hash
	Tree    string
	Parents []string
	Message string
}

// ParseCommit reads a commit object as git stores it. Git does not hold an object
// that it reads against its name, so this does.
func ParseCommit(name string, object []byte) (Commit, error) {
	head := fmt.Appendf(nil, "commit %d\x00", len(object))
	var sum string
	switch len(name) {
	case 2 * sha1.Size:
		s := sha1.Sum(append(head, object...)) //nolint:gosec // as above
		sum = hex.EncodeToString(s[:])
	case 2 * sha256.Size:
		s := sha256.Sum256(append(head, object...))
		sum = hex.EncodeToString(s[:])
	}
	if sum == "" || sum != name {
		return Commit{}, fmt.Errorf("the commit %s is damaged in this repository: its bytes have another hash; run git fsck", name)
	}
	c := Commit{Name: name}
	header, message, ok := strings.Cut(string(object), "\n\n")
	if !ok {
		header = strings.TrimSuffix(header, "\n")
	}
	c.Message = message
	for n, line := range strings.Split(header, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch {
		case n == 0 && key == "tree":
			c.Tree = value
		case n > 0 && key == "parent" && len(c.Parents) == n-1: // they follow the tree, and nothing is between
			c.Parents = append(c.Parents, value)
		}
	}
	if c.Tree == "" {
		return Commit{}, errors.New("the commit has no tree: run git fsck")
	}
	return c, nil
}
