// Package order is the seam between who decides and who does: orders are values that have all that is needed to
// carry them out, and what comes of them are values too, so that both sides could be on different machines. Package
// conductor gives orders, package runner carries them out, and neither knows the other.
package order
