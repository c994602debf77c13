package memberlink

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/member"
)

// What ends a stream of messages.
var (
	ErrFrame  = errors.New("this is no message of a member")
	ErrForged = errors.New("a member has sent a message in the name of another one")
)

// grown is how much room a message is given before any of it is there.
const grown = 64 << 10

// Receive gives each message that the member from sends to give, which keeps it and does not wait, until the stream ends: nil if it does so
// between two messages. It ends before a message that is none, that is too large, or that is said to come from somebody else.
func Receive(r io.Reader, from uint64, give func(message []byte)) error {
	in := bufio.NewReaderSize(r, grown)
	for {
		var head [frameHead]byte
		if _, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(head[:])
		if size > member.MaxMessage {
			return fmt.Errorf("%w: it would have %d bytes", ErrFrame, size)
		}
		message, err := readMessage(in, int(size))
		if err != nil {
			return err
		}
		said, ok := member.Sender(message)
		switch {
		case !ok:
			return ErrFrame
		case said != from:
			return fmt.Errorf("%w: of %d, and it is %d", ErrForged, said, from)
		}
		give(message)
	}
}

// readMessage reads a message. A large one gets its room as it comes.
func readMessage(in io.Reader, size int) ([]byte, error) {
	if size <= grown {
		message := make([]byte, size)
		_, err := io.ReadFull(in, message)
		return message, whole(err)
	}
	var message bytes.Buffer
	_, err := io.CopyN(&message, in, int64(size))
	return message.Bytes(), whole(err)
}

// whole says of a stream that ends within a message that it is cut off.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Serve is what a route does with a POST to [MessagesPath], once it has made sure that it comes from the member from, and admitted it: it takes
// messages as [Receive] does, for as long as they come, with no deadline, and until the request's context ends. The answer to it is the last on its connection.
func Serve(w http.ResponseWriter, r *http.Request, from uint64, give func(message []byte)) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a writer without deadlines has no connection to hold up
	stop := context.AfterFunc(r.Context(), func() {
		_ = control.SetReadDeadline(time.Now()) // as above
	})
	err := Receive(r.Body, from, give)
	stop()
	httpserver.Answering(w)
	httpserver.Refuse(w)
	_ = control.SetReadDeadline(time.Now()) // what else comes is not waited for: who sends it is to know now
	return err
}

// ServeFile is what a route does with a GET below [FilesPath], once it has what the archive says of the name: it answers with the file's bytes, or that
// there is none. Any other error it returns, for the route to answer as any other.
func ServeFile(w http.ResponseWriter, data []byte, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		w.WriteHeader(noFile)
		return nil
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, err = w.Write(data)
	return err
}

// noFile is answered if there is no such file: a word that nothing else on the way says.
const noFile = http.StatusNoContent
