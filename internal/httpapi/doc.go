// Package httpapi answers requests to a box over HTTP: its routes, who may call which, how errors are
// answered, lists by pages, streams, and how many clients may do what at once. Requests on items,
// claims, conversations and events, and all that only read, go to internal/box; what starts or changes a run, answers a question
// or comes from a session goes to internal/conductor. How connections are kept in bounds is internal/httpserver's.
//
// [Server.Serve] answers until its context ends or the box stops, and stops the box then; whoever opened the box closes it. A client
// that was answered finds what it was told recorded; nothing is kept here.
package httpapi
