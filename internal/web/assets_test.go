package web

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// The script of others is the one of its release: idiomorph 0.8.0, dist/idiomorph.js, as npm has it.
func TestIdiomorph(t *testing.T) {
	data, err := assets.ReadFile("assets/idiomorph/idiomorph.js")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != "4cda2ad0d39c630100957eeb5ec3115f84d57351c6c313579d2441cf48e9880d" {
		t.Errorf("it is %x", sum)
	}
}
