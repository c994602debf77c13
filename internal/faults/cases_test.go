package faults_test

// corruptions lists every file and what happens to it.
func corruptions() []corruption {
	var all []corruption
	for _, f := range []struct {
		kind, file string
		damages    []string
	}{
		{"engine: first block", stream + "msgs/1.blk", []string{"bit flipped", "truncated", "emptied", "deleted"}},
		{"engine: middle block", stream + "msgs/2.blk", []string{"bit flipped", "truncated", "deleted"}},
		{"engine: last block", stream + "msgs/[0-9]*.blk", []string{"bit flipped early", "bit flipped late", "truncated", "truncated a little", "deleted"}},
		{"engine: index.db", stream + "msgs/index.db", []string{"bit flipped", "truncated", "deleted", "old copy"}},
		{"engine: meta.inf", stream + "meta.inf", []string{"bit flipped", "truncated", "deleted"}},
		{"engine: meta.sum", stream + "meta.sum", []string{"bit flipped", "truncated", "deleted"}},
		{"engine: blocks' directory", stream + "msgs", []string{"deleted", "old copy", "another box's", "stray __new_msgs__"}},
		{"engine: stream's directory", "engine/jetstream/$G/streams/LEDGER", []string{"deleted", "old copy", "another box's"}},
		{"engine: its directory", "engine", []string{"deleted", "old copy", "another box's"}},
		{"archive: log, first file", "archive/log/0*.log", []string{"bit flipped early"}},
		{"archive: log, last file", "archive/log/*.log", []string{"bit flipped early", "bit flipped late", "truncated", "truncated a little", "emptied", "deleted"}},
		{"archive: log's directory", "archive/log", []string{"deleted", "old copy"}},
		{"archive: full bundle", "archive/tile/entries/003", []string{"bit flipped", "truncated", "deleted"}},
		{"archive: partial bundle", "archive/tile/entries/*.p/*", []string{"bit flipped", "truncated", "deleted"}},
		{"archive: full tile", "archive/tile/0/003", []string{"bit flipped", "truncated", "deleted"}},
		{"archive: partial tile", "archive/tile/0/*.p/*", []string{"bit flipped", "truncated", "deleted"}},
		{"archive: tile of level 1", "archive/tile/1/000.p/*", []string{"bit flipped", "truncated", "deleted"}},
		{"archive: checkpoint", "archive/checkpoint", []string{"bit flipped", "truncated", "deleted", "old copy", "another box's"}},
		{"archive: key", "archive/key", []string{"bit flipped", "truncated", "deleted", "another box's"}},
		{"archive: blob", "archive/blob/*/*", []string{"bit flipped", "truncated", "deleted"}},
		{"archive: its directory", "archive", []string{"deleted", "old copy", "another box's"}},
		{"snapshot", "snapshot", []string{"bit flipped", "truncated", "deleted", "old copy", "another box's"}},
		{"signer.key", "signer.key", []string{"bit flipped", "truncated", "deleted", "another box's"}},
		{"verifier.key", "verifier.key", []string{"bit flipped", "truncated", "deleted", "another box's"}},
		{"api.token", "api.token", []string{"deleted"}},
		{"gate.token", "gate.token", []string{"deleted"}},
	} {
		for _, image := range []string{"killed", "stopped"} {
			for _, d := range f.damages {
				all = append(all, corruption{image: image, kind: f.kind, file: f.file, damage: d})
			}
		}
	}
	return all
}

const stream = "engine/jetstream/$G/streams/LEDGER/"
