// Package fleet is who carries out the orders of a box: its own runner, in this process, and those on other machines. To the
// conductor all of them are one [order.Runner], and it can't tell where an order is carried out.
//
// A runner on another machine dials in and says again and again that it is there ([Fleet.Here]). It follows what the box wants
// of it ([Fleet.Follow]): the whole set of orders that are to be under way there, sent anew whenever it connects, so nothing is lost
// by a connection that breaks, a box that is killed or a runner that is. An order keeps its name, and given again does no harm.
// What came of it is handed in before the runner says that it is done ([Fleet.HandIn], [Fleet.Done]).
//
// A runner of which nothing was heard for [Options.Lost] is lost: its sessions are over, and what they worked on is
// begun elsewhere from what they have pushed. When it is back, it is told so.
//
// Nothing here is durable, and no decision goes by a runner's clock. What should be under way follows from the runs, and who the runners are
// from the ledger. A fleet is started by [New] and stopped once, after the conductor; it closes nothing of the runners.
package fleet
