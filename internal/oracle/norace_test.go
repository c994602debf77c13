//go:build !race

package oracle

// every is which of the places in a reply TestNoSignalShows cuts it at.
const every = 1
