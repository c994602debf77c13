//go:build amd64 || arm64

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// secret is what a box keeps to itself: in files, its environment and its memory.
const secret = "token-that-only-the-box-has"

// greeting is what a box says to whoever reaches it.
const greeting = "this is the box"

// runBox has a box's ways in, below a directory, until its input ends. It prints them as
// assignments.
func runBox(dir string) error {
	token, err := os.Open(filepath.Join(dir, "api.token"))
	if err != nil {
		return err
	}
	defer token.Close()
	memory := []byte(secret)
	var config net.ListenConfig
	for _, at := range []struct{ name, network, address string }{
		{"TCP", "tcp", "127.0.0.1:0"}, {"SOCKET", "unix", os.Getenv("SOCKET")}, {"ABSTRACT", "unix", fmt.Sprintf("@box-%d", os.Getpid())},
	} {
		l, err := config.Listen(context.Background(), at.network, at.address)
		if err != nil {
			return err
		}
		go greetAll(l)
		fmt.Printf("%s=%s\n", at.name, l.Addr())
	}
	for _, at := range []struct{ name, network, address string }{
		{"UDP", "udp", "127.0.0.1:0"}, {"DATAGRAMS", "unixgram", os.Getenv("SOCKET") + ".datagrams"},
	} {
		c, err := config.ListenPacket(context.Background(), at.network, at.address)
		if err != nil {
			return err
		}
		go echo(c)
		fmt.Printf("%s=%s\n", at.name, c.LocalAddr())
	}
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
	if err != nil {
		return err
	}
	shared, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return err
	}
	// It is there while it is attached, and gone with this process however that ends: the system has few of them.
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
		return err
	}
	copy(shared, secret)
	fmt.Printf("PID=%d\nTOKEN_FD=%d\nMEMORY=%d\nSHARED=%d\nready\n", os.Getpid(), token.Fd(), uintptr(unsafe.Pointer(&memory[0])), id)
	_, err = io.Copy(io.Discard, os.Stdin)
	copy(memory, secret) // it has been there until now
	return err
}

func greetAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, greeting)
		_ = c.Close()
	}
}

// echo tells everybody what they said.
func echo(c net.PacketConn) {
	b := make([]byte, 100)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		_, _ = c.WriteTo(b[:n], from)
	}
}

var errRefused = errors.New("it was not let")
