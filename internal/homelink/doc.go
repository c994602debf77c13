// Package homelink is the way between the box that leads, of those that share a ledger, and the runner of another box in whose directory a run was
// started: the run's home.
//
// There, orders go: [Homes] has a [Far] for each other box, which is a [fleet.Home] whose methods are requests, and [ServeHome] carries them out.
// What comes of them comes back: [Conductor] is the conductor and the mail to the runner of a box that does not lead, or does not always, and
// [ServeConductor] hands it to the conductor of the one that does.
//
// Each request is held until what it asks for is done. Meanwhile both say now and then that they are there: a request whose answer goes silent is
// broken, and what was asked by a box that went silent ends. An order may be given again then; it is under way at its home once ([Own]).
//
// A box is reached if it answers. What is asked of one that is not reached is answered by what does no harm, as each method of [Far] says.
//
// Nothing here is durable. [Homes] and [Conductor] are made by their owner and stopped once; the handlers start nothing that outlives a request.
// Who may ask is settled before a handler is called: requests are other members'.
package homelink
