// Package index finds again, on disk, what has left a box's memory: work items that are
// completed, runs and conversations that have ended. It is a cache of the ledger. It says
// where the events of a subject are; the subject itself is folded from them.
//
// # What it promises
//
//   - When [Index.Add] has returned, its records are durable. Nothing may leave memory before.
//   - The latest record of a subject counts. A record is never removed, so a name stays taken.
//   - The key of a request is found for a day ([KeepKeys]) after the latest event of its subject.
//     [Index.Merge] drops it after that, and not necessarily at once.
//   - A lookup gives what was added, or that there is none, or an error: never "none" because
//     something could not be read. What is damaged gives a [Damage], at Open or at the lookup
//     that comes upon it. The way out is to remove the index's directory and to add everything
//     again, from the ledger.
//   - After a power cut anywhere the index is the one before an Add or Merge, or the one after
//     it. [Index.Mark] says how much of the ledger it covers: an older index that was put back
//     is whole, and has an older mark.
//   - Lookups may be made while an Add and a Merge are under way. They see the index before
//     it or after it.
//
// Made-up names (W-00001) are not counted here. Whoever folds the ledger keeps the largest number
// beside the fold: the index is only ever used together with a fold that reaches as far.
//
// # Files
//
// The directory has a file manifest and up to about 10 files NNNNNNNNNNNN.idx, which are never
// changed. Add writes a new one. Merge makes one of several, and removes those. A file that the
// manifest does not list is left over from a write that was cut off, and is removed at Open.
//
//	file  = blocks tail
//	block = entries, at most 4096 bytes unless it is a single entry
//	entry = CRC-32C of the rest (4 bytes) | length of key | length of value | key | value
//	tail  = number of keys in the filter | length of filter | filter | a reference for each block
//	reference = offset of the block (8 bytes) | first 16 bytes of its SHA-256 | length of key | key
//
// Numbers and lengths are varints but where a size is given; those with a size are big-endian.
// The key in a block's reference is not larger than the block's first key and larger than the last
// one before it, and as short as that allows. Entries are in the order of their keys. A key begins
// with its section:
//
//	s kind subject            the record
//	a length kind key subject what a request with this key added, by its kind; the value is the record's time
//	i length name subject     the item or conversation with this name
//	n length name subject     the run with this name
//	r length run subject      the items of a run, by the run's subject
//	t length task run         the runs that have a task with this id
//	b length hash             a blob that was removed; the value is the sequence of the last event that says so
//
// The value of a record has its other fields, in the order in which [Record] has them; the sequences
// of its events are the first one and then the differences.
//
// The filter is a Bloom filter in lines of 64 bytes, 12 bits for each key, 7 bits set within one
// line. It is asked for the section and what follows it up to the last part, or for the subject of a
// record. It says "none" wrongly never, and "perhaps" wrongly for about one key in 150.
//
// The manifest is text: the format, the mark, the number of the next file, and for each file,
// oldest first, its number, where its tail begins, its length and the SHA-256 of its tail. Its last line
// is a MAC (HMAC-SHA-256) with the key given to Open. So the key vouches for the tails, and those for
// every block: nobody else can write an index that is believed, and nothing has to be read whole
// to know that. The checksum of an entry goes with it from file to file.
//
// # How it becomes durable
//
// A file is written, synced, and its name is synced. Then the manifest is written beside its
// place, synced, renamed, and its name synced. Only then are files removed that it does not list any more, and
// each when its last reader is done. After a sync that failed nothing more is written ([ErrFailed]).
//
// # Why it is not a database
//
// A database's pages are believed as they are found: by default without checksums, and always without a
// key. What is asked of this one is little (four kinds of lookups, nothing changed in place), and it lies
// on the same file layer as the archive, so that power cuts and damage are tried in the same way.
//
// # What it costs
//
// In memory are the tails: for each file its filter and its references, about 6 bytes for a record
// with a name and a run. A lookup reads and checks one block for each file whose filter says "perhaps". Files are
// merged when four of the newest ones, or more, are together as large as the one before them, so a
// record is written again about as often as the index doubles, or less. While files are merged the new
// one's filter and references are in memory too.
package index
