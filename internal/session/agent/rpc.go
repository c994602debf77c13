package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/safetext"
)

// rpc is a JSON-RPC 2.0 connection with one message a line, over a program's input and
// output. It is written to with what the program prints. What comes in is handled one
// after the other, so a program that prints faster than it is heard has to wait.
//
// It is here, and not a library's, because of what that does with a program that prints
// much: ADR 11.
type rpc struct {
	lineReader
	send     func([]byte) error // queues a line, or fails
	reply    func([]byte)       // queues a line, and waits until it can
	requests func(method string, params json.RawMessage) (result any, err *rpcError)
	notified func(method string, params json.RawMessage)

	mu      sync.Mutex
	last    int
	pending map[int]func(json.RawMessage, error)
}

// rpcError is an answer that is an error.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error says what the other side says, with what the data has of it in words.
func (e *rpcError) Error() string {
	text := cmp.Or(e.Message, "it does not say why")
	var data struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	switch err := json.Unmarshal(e.Data, &data); {
	case err == nil && data.Details != "":
		text += ": " + data.Details
	case err == nil && data.Message != "":
		text += ": " + data.Message
	case err != nil && len(e.Data) > 0:
		var plain string
		if json.Unmarshal(e.Data, &plain) == nil {
			text += ": " + plain
		}
	}
	return safetext.Escape(LastRunes(text, maxCause))
}

const (
	codeNoMethod  = -32601
	codeBadParams = -32602
	codeLogin     = -32000 // ACP: authentication required
)

type rpcMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// call sends a request; done gets the answer.
func (c *rpc) call(method string, params any, done func(json.RawMessage, error)) error {
	c.mu.Lock()
	c.last++
	id := c.last
	c.pending[id] = done
	c.mu.Unlock()
	return c.write(rpcMessage{ID: fmt.Append(nil, id), Method: method, Params: params})
}

// notify sends what needs no answer.
func (c *rpc) notify(method string, params any) error {
	return c.write(rpcMessage{Method: method, Params: params})
}

func (c *rpc) write(m rpcMessage) error {
	line, err := encode(m)
	if err != nil {
		return err
	}
	return c.send(line)
}

func encode(m rpcMessage) ([]byte, error) {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	return append(line, '\n'), err
}

// hear handles one line. What is not a message is passed over: programs print warnings
// where they should not.
func (c *rpc) hear(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
	}
	if !strings.HasPrefix(strings.TrimSpace(string(line[:min(len(line), 64)])), "{") || !decode(line, &m) {
		return
	}
	switch {
	case m.Method != "" && m.ID != nil:
		result, err := c.requests(m.Method, m.Params)
		if err == nil && result == nil {
			result = struct{}{}
		}
		if line, err := encode(rpcMessage{ID: m.ID, Result: result, Error: err}); err == nil {
			c.reply(line)
		}
	case m.Method != "":
		c.notified(m.Method, m.Params)
	default:
		c.answered(m.ID, m.Result, m.Error)
	}
}

// answered hands an answer to whom it is for.
func (c *rpc) answered(id, result json.RawMessage, failed *rpcError) {
	var n int
	if json.Unmarshal(id, &n) != nil {
		return
	}
	c.mu.Lock()
	done := c.pending[n]
	delete(c.pending, n)
	c.mu.Unlock()
	switch {
	case done == nil:
	case failed != nil:
		done(nil, failed)
	default:
		done(result, nil)
	}
}
