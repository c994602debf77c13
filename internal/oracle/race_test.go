//go:build race

package oracle

// every is which of the places in a reply TestNoSignalShows cuts it at: under the race
// detector each request takes ten times as long.
const every = 8
