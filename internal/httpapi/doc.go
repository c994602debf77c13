// Package httpapi answers requests to a box over HTTP: its routes, who may call which, how errors are
// answered, lists by pages, streams, and how many clients may do what at once. What a request means is
// internal/box's to say; how connections are kept in bounds is internal/httpserver's.
package httpapi
