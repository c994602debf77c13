package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Digest identifies what the settings say, with every default filled in: a comment, an order or a default that is written out
// makes no difference. Where the box listens is not part of it: the command line can say that, and no work goes by it.
func (c Config) Digest() (string, error) {
	c.Listen, c.TLS = "", TLS{}
	text, err := yaml.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("the settings of %s can't be written: %w", c.Path, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// SharedDigest is [Config.Digest] without where the ledger lies, which each box of a cluster may say otherwise.
func (c Config) SharedDigest() (string, error) {
	c.Archive.Dir, c.Archive.Segments, c.Archive.Mirror = "", "", ""
	return c.Digest()
}
