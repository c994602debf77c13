//go:build linux

package chaos

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

// TestIntruders has those speak to a cluster who are no members of it, or not whom they say, or no more. None is heard, and the cluster goes on.
func TestIntruders(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel() // it mostly waits
	w := newCluster(t, 0)
	r := w.recorder()
	r.add(20)
	b, c := w.boxes[1], w.boxes[2]
	own, err := pin.OpenKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	goesOn := func() {
		t.Helper()
		w.healthy()
		r.add(3)
	}

	t.Run("a fourth key", func(t *testing.T) { refusedAt(t, w.fourth, b, own, message(1, 2)) })
	t.Run("plain text", func(t *testing.T) {
		conn, err := w.fourth.host.Dial(t.Context(), "tcp", b.secure())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if answer, err := streamed(conn, message(1, 2)); err == nil && answer < 400 {
			t.Errorf("it is answered %d", answer)
		}
	})
	t.Run("another one's id", func(t *testing.T) {
		m := w.follower(0)
		if err := m.stop(); err != nil {
			t.Fatal(err)
		}
		defer goesOn()
		defer m.start()
		at := w.leader()
		own, others := m.known(t), at.known(t).ID
		key, err := pin.OpenKey(m.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range own.Members {
			if o.ID != own.ID {
				refusedAt(t, m, at, key, message(o.ID, others))
			}
		}
	})
	t.Run("another cluster", func(t *testing.T) {
		d := w.fourth
		d.settle()
		d.must("cluster", "init", "--name", "d", "--address", d.secure())
		d.start()
		mine, theirs := d.known(t), b.known(t)
		for _, o := range theirs.Members { // it takes them for its own
			if o.ID != mine.ID {
				mine.Members = append(mine.Members, o)
			}
		}
		if err := d.stop(); err != nil {
			t.Fatal(err)
		}
		if err := membership.Write(d.dir, mine); err != nil {
			t.Fatal(err)
		}
		key, err := pin.OpenKey(d.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range w.boxes {
			refusedAt(t, d, m, key, message(mine.ID, m.known(t).ID))
		}
		d.start()
		goesOn()
		d.kill()
	})
	t.Run("a log without cluster.json", func(t *testing.T) {
		m := w.follower(0)
		file := filepath.Join(m.dir, membership.File)
		if err := m.stop(); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file, file+".away"); err != nil {
			t.Fatal(err)
		}
		if err := m.try(); err == nil {
			t.Error("it starts")
			m.kill()
		} else if words := explained(err); !strings.Contains(words, membership.File) {
			t.Errorf("it refuses with %s", words)
		}
		if err := os.Rename(file+".away", file); err != nil {
			t.Fatal(err)
		}
		m.start()
		goesOn()
	})
	t.Run("an old id after rejoining", func(t *testing.T) {
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		old := b.copyAway(w)
		if err := b.rejoin(); err != nil {
			t.Fatal(err)
		}
		b.start()
		goesOn()
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		now := b.copyAway(w)
		b.putBack(old)
		b.isOut(t)
		b.putBack(now)
		b.start()
		goesOn()
	})
	t.Run("an old key after a replacement", func(t *testing.T) {
		c.kill()
		old := c.copyAway(w)
		key, err := pin.OpenKey(old)
		if err != nil {
			t.Fatal(err)
		}
		id := c.known(t).ID
		c.empty()
		c.redeem(strings.TrimSpace(w.boxes[0].must("cluster", "replace", c.name)))
		goesOn()
		w.wait("the old key is refused", func() bool { return !heardAt(t, w.fourth, b, key, message(id, b.known(t).ID)) }) // a box that left is told so for a while
		if err := c.stop(); err != nil {
			t.Fatal(err)
		}
		now := c.copyAway(w)
		c.putBack(old)
		c.isOut(t)
		c.putBack(now)
		c.start()
		goesOn()
	})
	if lost := r.missing(w.close()); lost > 0 {
		t.Errorf("%d acknowledged events are in no archive", lost)
	}
}

// known is what a box has of its cluster.
func (m *machine) known(t *testing.T) membership.Membership {
	t.Helper()
	known, err := membership.Read(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// isOut starts a box that is no member any more: it refuses, or answers nothing from what it has, and records nothing. If it left long ago, the others do not tell
// it, as they do not know its key: it says that it reaches nobody.
func (m *machine) isOut(t *testing.T) {
	t.Helper()
	if err := m.try(); err != nil {
		t.Log(explained(err))
		return
	}
	defer m.kill()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	defer func() { t.Log(tail(m.process.said.String(), 1)) }()
	client := api.ClientOver(&carrier{w: m.w, only: m}, m.w.token)
	ctx = context.WithValue(ctx, opKey{}, &op{waits: 10 * time.Second})
	if _, err := client.List(ctx, "", api.From{Limit: 1}); err == nil {
		t.Error("it answers what was recorded")
	}
	if _, err := client.Add(ctx, api.AddWork{Title: "nobody's"}); err == nil {
		t.Error("it records")
	}
	if s, err := m.status(); err == nil && s.Leader != "" {
		t.Errorf("it says that %s leads", s.Leader)
	}
	m.w.wait("it says that it was removed, or reaches nobody", func() bool {
		said := m.process.said.String()
		return strings.Contains(said, "is not reached") || strings.Contains(said, "was removed from the cluster")
	})
}

// message is as one that a member sends: a question.
func message(from, to uint64) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint([]byte{2}, from), to)
	b = binary.AppendUvarint(b, 1)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// refusedAt fails if a machine is heard that speaks to a box with a key, as a member does.
func refusedAt(t *testing.T, from, to *machine, key *pin.Key, said []byte) {
	t.Helper()
	if heardAt(t, from, to, key, said) {
		t.Errorf("%s hears what a member says", to.name)
	}
}

// heardAt reports whether a machine is heard that speaks to a box with a key, as a member does: its connection is not refused, nor is what comes on it.
func heardAt(t *testing.T, from, to *machine, key *pin.Key, said []byte) bool {
	t.Helper()
	theirs, err := pin.OpenKey(to.dir)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := from.host.Dial(t.Context(), "tcp", to.secure())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	over := tls.Client(conn, pin.Member(key, theirs.Hash()))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := over.HandshakeContext(ctx); err != nil {
		return false
	}
	answer, err := streamed(over, said)
	return err == nil && answer < 400
}

// streamed sends what a member sends, and returns how that is answered when the stream is over.
func streamed(conn net.Conn, said []byte) (status int, err error) {
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(conn, "POST /v1/member/messages HTTP/1.1\r\nHost: member\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(said), said)
	if err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodPost})
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body) // the status says enough
	return answer.StatusCode, nil
}
