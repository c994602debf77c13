package lua

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/arnodel/golua/code"
	rt "github.com/arnodel/golua/runtime"
	"github.com/arnodel/golua/scanner"
	"github.com/arnodel/golua/token"
)

// What a source may be at most. The parser and the compiler have no bounds of their own:
// they take about a kilobyte of memory for a token, and of stack for a level.
const (
	maxSource   = 256 << 10 // bytes
	maxTokens   = 50_000
	maxBlocks   = 100       // in each other: names are looked up in each
	maxDepth    = 1000      // how deep blocks, brackets and operators lie in each other
	maxFunction = 1<<15 - 1 // instructions of a function: jumps reach no further
)

// chunk is a source that was compiled. It can be run any number of times, also at once.
type chunk struct {
	name string
	unit *code.Unit
}

// compile checks and compiles a source. The name is for errors.
func compile(name string, source []byte) (*chunk, error) {
	name = clean(name)
	source = bytes.TrimPrefix(source, []byte("\ufeff"))
	switch {
	case len(source) > maxSource:
		return nil, problem(name, 0, fmt.Sprintf("it has %d KiB, more than the %d it may have", len(source)>>10, maxSource>>10), ErrLimit)
	case !utf8.Valid(source):
		return nil, problem(name, 0, "it is no text in UTF-8", nil)
	}
	if err := measure(name, source); err != nil {
		return nil, err
	}
	unit, err := build(name, source)
	if err != nil {
		return nil, err
	}
	if err := mark(unit); err != nil {
		return nil, problem(name, 0, err.Error(), ErrLimit)
	}
	return &chunk{name, unit}, nil
}

// measure refuses a source that would take the parser too much memory or stack. Depth is
// counted in tokens: within a pair of brackets or a block, what has come since the last
// comma, assignment, keyword or beginning of a statement lies in each other at worst.
func measure(name string, source []byte) error {
	s := scanner.New(name, source)
	var outer []int // tokens that lie around each open bracket or block
	around, run, blocks := 0, 0, 0
	var last token.Type
	for count := 0; ; count++ {
		t := s.Scan()
		if t == nil || t.Type == token.EOF || t.Type == token.INVALID || t.Type == token.UNFINISHED {
			return nil // the parser says what is wrong
		}
		switch {
		case separates(t.Type) || (t.Type == token.IDENT || t.Type == token.KwFunction) && endsExpression(last):
			run = 0
		default:
			run++
		}
		switch t.Type {
		case token.SgOpenBkt, token.SgOpenBrace, token.SgOpenSquareBkt, token.KwFunction, token.KwDo, token.KwIf, token.KwRepeat:
			outer = append(outer, run)
			around, run = around+run+1, 0
		case token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt, token.KwEnd, token.KwUntil:
			if n := len(outer); n > 0 {
				run, outer = outer[n-1], outer[:n-1]
				around -= run + 1
			}
		}
		switch t.Type {
		case token.KwFunction, token.KwDo, token.KwIf, token.KwRepeat:
			blocks++
		case token.KwEnd, token.KwUntil:
			blocks--
		}
		switch {
		case count >= maxTokens:
			return problem(name, t.Line, fmt.Sprintf("it has more than %d words and signs", maxTokens), ErrLimit)
		case blocks > maxBlocks || around+run > maxDepth:
			return problem(name, t.Line, "brackets, blocks and operators lie too deep in each other", ErrLimit)
		}
		last = t.Type
	}
}

// separates reports whether what follows a token lies no deeper than what was before it.
func separates(t token.Type) bool {
	switch t {
	case token.SgComma, token.SgSemicolon, token.SgAssign, token.SgDoubleColon,
		token.KwLocal, token.KwReturn, token.KwIf, token.KwThen, token.KwElse, token.KwElseIf, token.KwDo, token.KwWhile,
		token.KwFor, token.KwIn, token.KwRepeat, token.KwUntil, token.KwBreak, token.KwGoto:
		return true
	}
	return false
}

// endsExpression reports whether an expression can end with a token, so that a name or
// function after it begins a statement.
func endsExpression(t token.Type) bool {
	switch t {
	case token.IDENT, token.STRING, token.LONGSTRING, token.NUMDEC, token.NUMHEX, token.KwNil, token.KwTrue, token.KwFalse, token.KwEnd,
		token.SgEtc, token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt:
		return true
	}
	return false
}

// build parses and compiles.
func build(name string, source []byte) (unit *code.Unit, err error) {
	defer func() {
		if p := recover(); p != nil {
			unit, err = nil, problem(name, 0, explain("the compiler has failed: "+fmt.Sprint(p)), nil)
		}
	}()
	unit, _, err = newRuntime().CompileLuaChunk(name, source)
	var syntax *rt.SyntaxError
	switch {
	case err == nil:
		return unit, nil
	case errors.As(err, &syntax):
		line, text := place(syntax.Err.Error())
		return nil, problem(name, line, text, nil)
	}
	line, text := place(strings.TrimPrefix(err.Error(), name+":"))
	return nil, problem(name, line, explain(text), nil)
}

// explain says in other words what the compiler says in its own.
func explain(text string) string {
	switch {
	case strings.Contains(text, "Fill table index"):
		return "a table has more than 255 elements and ends with a call: put brackets around that call"
	case strings.Contains(text, "not enough registers"):
		return "a function, or what stands outside of functions, has too many local variables, or an expression too many parts: split it"
	}
	return text
}

// place splits "line:column: text".
func place(message string) (line int, text string) {
	parts := strings.SplitN(message, ":", 3)
	if len(parts) == 3 {
		if line, err := strconv.Atoi(parts[0]); err == nil {
			return line, strings.TrimSpace(parts[2])
		}
	}
	return 0, message
}

// Marks are line numbers that no source has. To the interpreter an instruction that has one
// is a new line each time, so that it calls the watch. None of these instructions can fail,
// so that no error shows a mark; their places are added, so that no two are the same.
const (
	firstMark = 1 << 24
	markLoops = 1 // it jumps back
	markMakes = 2 // it makes a table or a function
)

// mark marks the instructions that are to be watched.
func mark(unit *code.Unit) error {
	for _, k := range unit.Constants {
		if f, ok := k.(code.Code); ok && f.EndOffset-f.StartOffset > maxFunction {
			return errors.New("a function, or what stands outside of functions, is too long: split it")
		}
	}
	for i, op := range unit.Code {
		kind := 0
		switch {
		case op.HasType1():
		case op.TypePfx() == code.Type5Pfx && (op.GetJ() == code.OpJump || op.GetJ() == code.OpJumpIf) && op.GetOffset() <= 0:
			kind = markLoops
		case op.TypePfx() == code.Type4Pfx && !op.HasType4a() && op.GetUnOpK() == code.OpTable,
			op.TypePfx() == code.Type3Pfx && op.GetY() == code.OpClosureK:
			kind = markMakes
		}
		if kind != 0 {
			unit.Lines[i] = int32(kind*firstMark + i)
		}
	}
	return nil
}
