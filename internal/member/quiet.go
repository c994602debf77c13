package member

import "fmt"

// contradiction is what the library's logger panics with: its state can't be that of a member.
type contradiction string

// quiet is the library's logger. What it says of its ways nobody reads; what it can't go on after stops the member.
type quiet struct{}

func (quiet) Debug(...any)            {}
func (quiet) Debugf(string, ...any)   {}
func (quiet) Info(...any)             {}
func (quiet) Infof(string, ...any)    {}
func (quiet) Warning(...any)          {}
func (quiet) Warningf(string, ...any) {}
func (quiet) Error(...any)            {}
func (quiet) Errorf(string, ...any)   {}

func (quiet) Fatal(v ...any)                 { panic(contradiction(fmt.Sprint(v...))) }
func (quiet) Fatalf(format string, v ...any) { panic(contradiction(fmt.Sprintf(format, v...))) }
func (quiet) Panic(v ...any)                 { panic(contradiction(fmt.Sprint(v...))) }
func (quiet) Panicf(format string, v ...any) { panic(contradiction(fmt.Sprintf(format, v...))) }
