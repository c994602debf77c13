package safetext_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/safetext"
)

// What an agent printed goes into a message, and clears nobody's screen.
func ExampleEscape() {
	said := "done\x1b[2J\u202e"
	fmt.Println("the agent said: " + safetext.Escape(said))
	// Output: the agent said: done\x1b[2J\u202e
}

// A text of several lines keeps them.
func ExampleEscapeLines() {
	fmt.Println(safetext.EscapeLines("first\nsecond\a"))
	// Output:
	// first
	// second\x07
}

// A name of any length goes into a column of a table.
func ExampleCut() {
	for _, name := range []string{"short", "a name that is too long", "日本語の名前"} {
		cell := safetext.Cut(name, 10)
		fmt.Printf("|%s%*s|\n", cell, 10-safetext.Width(cell), "")
	}
	// Output:
	// |short     |
	// |a name th…|
	// |日本語の… |
}

// As much of a text as fits, and whether there is more, for whoever marks that in another way.
func ExampleClip() {
	for _, name := range []string{"short", "a name that is too long"} {
		clipped, whole := safetext.Clip(name, 10)
		fmt.Printf("%q %t\n", clipped, whole)
	}
	// Output:
	// "short" true
	// "a name tha" false
}
