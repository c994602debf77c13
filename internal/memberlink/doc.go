// Package memberlink is how the members of a cluster reach each other: over the TLS listener that each box has anyway, with keys that are pinned both
// ways (package pin). It is the [raftlog.Transport] of a member's log ([Links.Send], [Links.Fetch]), and carries requests of any kind to another
// member ([Links.Carrier]).
//
// Messages go by one long POST in each direction ([MessagesPath]): a body in chunks, of frames that are a length in 4 bytes and a message. The
// other side takes them with [Serve]. It says that it does by "100 Continue", so a refusal is known before anything is sent; the answer itself ends the stream.
//
// What waits: Send, up to 1 s for a connection, and up to 2 s for the other side to take something of a message, 10 s for all of it. It waits for one member
// alone: others are not held up. What is dropped: messages to a member that was not reached, for 50 ms and up to half a second, until it is tried again; and those that were
// on their way when a connection broke. What is bounded: nothing is kept here besides the message that is being sent, and the system's own buffers; who receives keeps one message.
//
// Who the others are is asked each time. A connection belongs to a key and its addresses: when they are others, or the member is gone, it is closed,
// with all that is under way on it, and not used again.
package memberlink
