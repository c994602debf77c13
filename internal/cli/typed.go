package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// typed asks somebody at a terminal, and returns the line that they type, in lower case. It ends with ctx, and if they
// leave instead.
func (a *app) typed(ctx context.Context, question string) (string, error) {
	fmt.Fprintf(a.Out, "%s ", question)
	line, err := awaited(ctx, a.readLine)
	return strings.ToLower(strings.TrimSpace(line)), err
}

// maxTyped is how long a line may be that somebody types.
const maxTyped = 4 << 10

var errLongLine = errors.New("the line is too long")

// readLine reads a line and nothing behind it: the next question has the next one.
func (a *app) readLine() (string, error) {
	var line []byte
	for char := make([]byte, 1); len(line) < maxTyped; {
		switch n, err := a.In.Read(char); {
		case n == 1 && char[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, char[0])
		case err != nil:
			return "", err
		}
	}
	return "", errLongLine
}
