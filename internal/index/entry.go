package index

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// section is the first byte of a key.
type section byte

const (
	records   section = 's'
	addedBy   section = 'a'
	names     section = 'i' // of items and conversations, which share them
	runNames  section = 'n'
	runsItems section = 'r'
	tasks     section = 't' // to runs
	removed   section = 'b' // blobs
)

// entry is one key and its value in a file.
type entry struct{ key, value []byte }

func recordKey(kind Kind, subject string) []byte {
	return append([]byte{byte(records), byte(kind)}, subject...)
}

// linkPrefix is what all keys begin with that lead from a name to subjects.
func linkPrefix(s section, name string) []byte {
	return appendText([]byte{byte(s)}, name)
}

// keyName is the name that the key of a request which added a subject of a kind leads to it by: keys of
// two kinds of requests have nothing to do with each other.
func keyName(kind Kind, key string) string { return string(rune(kind)) + key }

func link(s section, name, subject string, value []byte) entry {
	return entry{append(linkPrefix(s, name), subject...), value}
}

// entries returns what a record is stored as.
func (r Record) entries() []entry {
	if r.Kind == Blob {
		return []entry{link(removed, r.Subject, "", binary.AppendUvarint(nil, r.Last()))}
	}
	nameSection := names
	if r.Kind == Run {
		nameSection = runNames
	}
	all := []entry{{recordKey(r.Kind, r.Subject), r.value()}, link(nameSection, r.ID, r.Subject, nil)}
	if r.AddKey != "" {
		all = append(all, link(addedBy, keyName(r.Kind, r.AddKey), r.Subject, binary.AppendVarint(nil, r.Latest)))
	}
	if r.Kind == Item && r.Run != "" {
		all = append(all, link(runsItems, r.Run, r.Subject, nil), link(tasks, r.Task, r.Run, nil))
	}
	return all
}

// sorted brings entries into the order of their keys. Of those with the same key the
// last one stays.
func sorted(all []entry) []entry {
	slices.SortStableFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	kept := all[:0]
	for i, e := range all {
		if i+1 < len(all) && bytes.Equal(e.key, all[i+1].key) {
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// record reads the record that an entry is.
func (e entry) record() (Record, error) {
	if len(e.key) < 2 || section(e.key[0]) != records {
		return Record{}, errRecord
	}
	return parseRecord(Kind(e.key[1]), string(e.key[2:]), e.value)
}

// probe returns what a filter is asked for to find the entry.
func (e entry) probe() uint64 {
	if s := section(e.key[0]); s != records {
		p := parser{rest: e.key[1:]}
		return probe(s, p.bytes(p.uvarint()))
	}
	return probe(records, e.key[2:])
}

// castagnoli makes CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendEntry adds an entry to a block.
func appendEntry(b []byte, e entry) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(len(e.key)))
	b = binary.AppendUvarint(b, uint64(len(e.value)))
	b = append(append(b, e.key...), e.value...)
	binary.BigEndian.PutUint32(b[start:], crc32.Checksum(b[start+4:], castagnoli))
	return b
}

// nextEntry takes the first entry off a block, if it is whole and as it was written.
func nextEntry(block []byte) (e entry, rest []byte, ok bool) {
	p := parser{rest: block}
	sum := p.bytes(4)
	n, m := p.uvarint(), p.uvarint()
	e = entry{p.bytes(n), p.bytes(m)}
	if p.bad || n < 2 {
		return entry{}, nil, false
	}
	length := len(block) - len(p.rest)
	return e, p.rest, binary.BigEndian.Uint32(sum) == crc32.Checksum(block[4:length], castagnoli)
}
