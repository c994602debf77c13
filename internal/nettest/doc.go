// Package nettest makes machines for tests, as network namespaces: what begins in one has its network alone.
package nettest
