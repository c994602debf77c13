package raftlog

import (
	"context"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/member"
)

// peer is what waits to be sent to another member.
type peer struct {
	more chan struct{} // gets something when the queue is not empty

	mu    sync.Mutex
	queue [][]byte
	bytes int
}

// send sends messages. What does not fit is lost: the library sends again what matters.
func (l *Log) send(messages []member.Message) {
	for _, m := range messages {
		data, err := m.AppendBinary(nil)
		if err != nil || len(data) > member.MaxMessage {
			continue
		}
		p := l.peers[m.To]
		if p == nil {
			p = &peer{more: make(chan struct{}, 1)}
			l.peers[m.To] = p
			l.outgoing.Go(func(ctx context.Context) { p.carry(ctx, l.config.Transport, m.To) })
		}
		p.put(data)
	}
}

func (p *peer) put(message []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes+len(message) > maxOutbox {
		return
	}
	p.queue, p.bytes = append(p.queue, message), p.bytes+len(message)
	select {
	case p.more <- struct{}{}:
	default:
	}
}

func (p *peer) taken() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue := p.queue
	p.queue, p.bytes = nil, 0
	return queue
}

// carry sends what waits, all that has gathered at once: the library makes a message for each append.
func (p *peer) carry(ctx context.Context, transport Transport, to uint64) {
	for {
		select {
		case <-p.more:
		case <-ctx.Done():
			return
		}
		if messages := p.taken(); len(messages) > 0 {
			_ = transport.Send(ctx, to, messages...) // lost, as on any network
		}
	}
}
