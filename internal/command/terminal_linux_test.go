package command_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/command"
)

// terminal opens a terminal.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return slave
}

// Each of the three is a terminal by itself, and has colours if it is one; not every device is a terminal.
func TestTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	tty := terminal(t)
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	in, out, errs := os.Stdin, os.Stdout, os.Stderr
	defer func() { os.Stdin, os.Stdout, os.Stderr = in, out, errs }()
	os.Stdin, os.Stdout, os.Stderr = zero, zero, tty
	e := command.Terminal()
	if e.InTTY || e.OutTTY || e.Color || e.Live || !e.ErrTTY || !e.ErrColor {
		t.Errorf("%+v", e)
	}
	if e.Paint(command.Red, "x") != "x" || e.PaintErr(command.Red, "x") != "\x1b[31mx\x1b[0m" {
		t.Errorf("painted %q and %q", e.Paint(command.Red, "x"), e.PaintErr(command.Red, "x"))
	}
	t.Setenv("NO_COLOR", "1")
	os.Stdout, os.Stderr = tty, zero
	if e := command.Terminal(); !e.OutTTY || e.Color || !e.Live || e.ErrTTY || e.ErrColor {
		t.Errorf("%+v", e)
	}
}
