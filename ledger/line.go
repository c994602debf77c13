package ledger

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A checkpoint, and the way from an event to its root, can each be written on one
// line, for places such as the trailers of a commit. There is one way to write
// each of them: what is read was written by these functions, to the byte.

var (
	errCheckpointLine = errors.New("not a checkpoint on one line: that is its origin, size, root and signature, with one blank between them")
	errProofLine      = errors.New("not a proof on one line: that is the event and the hashes, each in base64, with one blank between them")
)

// strict64 refuses what is not the one way to write bytes in base64, but for line
// breaks, which it ignores.
var strict64 = base64.StdEncoding.Strict()

// signatureMark begins the line of a note's signature.
const signatureMark = "\u2014 "

// CheckpointLine writes a signed checkpoint on one line: its origin, size, root and
// signature. It has to have one signature, by its own origin. Nothing is verified.
func CheckpointLine(signed []byte) (string, error) {
	text, signature, _ := strings.Cut(string(signed), "\n\n")
	c, err := parseCheckpoint(text + "\n")
	if err != nil {
		return "", err
	}
	signature, ended := strings.CutSuffix(signature, "\n")
	signature, own := strings.CutPrefix(signature, signatureMark+c.Origin+" ")
	if !own || !ended || !plain64(signature) || strings.ContainsAny(c.Origin, " \t\r") {
		return "", errors.New("not a checkpoint with one signature, by its own origin")
	}
	return strings.Join([]string{c.Origin, strconv.FormatInt(c.Size, 10), base64.StdEncoding.EncodeToString(c.Root[:]), signature}, " "), nil
}

// ParseCheckpointLine returns the signed checkpoint that [CheckpointLine] wrote on
// this line, for [OpenCheckpoint]. Nothing is verified.
func ParseCheckpointLine(line string) (signed []byte, err error) {
	fields := strings.Split(line, " ")
	if len(fields) != 4 {
		return nil, errCheckpointLine
	}
	origin, size, root, signature := fields[0], fields[1], fields[2], fields[3]
	signed = fmt.Appendf(nil, "%s\n%s\n%s\n\n%s%s %s\n", origin, size, root, signatureMark, origin, signature)
	if again, err := CheckpointLine(signed); err != nil || again != line {
		return nil, errCheckpointLine
	}
	return signed, nil
}

// Line writes the event and the hashes of a proof on one line. The event's index and
// the checkpoint are not on it.
func (p Proof) Line() string {
	var hashes []byte
	for _, h := range p.Hashes {
		hashes = append(hashes, h[:]...)
	}
	return base64.StdEncoding.EncodeToString(p.Event) + " " + base64.StdEncoding.EncodeToString(hashes)
}

// ParseProofLine returns the proof that [Proof.Line] wrote on a line, with the index of
// its event and the signed checkpoint that it leads to. Nothing is verified.
func ParseProofLine(line string, index int64, signed []byte) (Proof, error) {
	event, hashes, ok := strings.Cut(line, " ")
	if !ok || len(event) > base64.StdEncoding.EncodedLen(MaxEvent) || !plain64(event) || hashes != "" && !plain64(hashes) {
		return Proof{}, errProofLine
	}
	stored, _ := strict64.DecodeString(event) // plain64 has tried both
	joined, _ := strict64.DecodeString(hashes)
	if len(joined)%len(Hash{}) != 0 || len(joined)/len(Hash{}) > maxPath {
		return Proof{}, errProofLine
	}
	p := Proof{Index: index, Event: stored, Checkpoint: string(signed)}
	for ; len(joined) > 0; joined = joined[len(Hash{}):] {
		p.Hashes = append(p.Hashes, Hash(joined))
	}
	return p, nil
}

// maxPath is how many hashes lead to the root of the largest tree.
const maxPath = 63

// plain64 reports whether a text is some bytes in base64, on one line.
func plain64(text string) bool {
	_, err := strict64.DecodeString(text)
	return err == nil && text != "" && !strings.ContainsAny(text, "\r\n")
}
