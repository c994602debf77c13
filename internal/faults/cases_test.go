package faults_test

import "slices"

const stream = "engine/jetstream/$G/streams/LEDGER/"

// corruptions lists every file, what happens to it, and what becomes of the box
// after a kill and after a clean stop.
func corruptions() []corruption {
	var all []corruption
	for _, f := range []struct {
		kind, file string
		pick       func([]string) string
		outcomes   []outcomes
	}{
		{"engine: first block", stream + "msgs/1.blk", last, []outcomes{
			{"bit flipped", repaired, repaired},
			{"truncated", repaired, repaired},
			{"emptied", repaired, repaired},
			{"deleted", repaired, repaired},
		}},
		{"engine: middle block", stream + "msgs/2.blk", last, []outcomes{
			{"bit flipped", repaired, repaired},
			{"sequence flipped", repaired, repaired},
			{"truncated", repaired, repaired},
			{"deleted", repaired, repaired},
		}},
		{"engine: last block", stream + "msgs/[0-9]*.blk", last, []outcomes{
			{"bit flipped early", healed, healed},
			{"bit flipped at the end", healed, healed},
			{"truncated", healed, healed},
			{"truncated a little", healed, healed},
			{"deleted", healed, healed},
		}},
		{"engine: index.db", stream + "msgs/index.db", last, []outcomes{
			{"bit flipped", none, healed},
			{"truncated", none, healed},
			{"deleted", none, healed},
			{"old copy", none, healed},
		}},
		{"engine: meta.inf", stream + "meta.inf", last, []outcomes{
			{"bit flipped", healed, healed},
			{"truncated", healed, healed},
			{"deleted", healed, healed},
		}},
		{"engine: meta.sum", stream + "meta.sum", last, []outcomes{
			{"bit flipped", healed, healed},
			{"truncated", healed, healed},
			{"deleted", healed, healed},
		}},
		{"engine: blocks' directory", stream + "msgs", last, []outcomes{
			{"deleted", healed, healed},
			{"old copy", healed, healed},
			{"another box's", repaired, repaired},
			{"stray __new_msgs__", healed, healed},
		}},
		{"engine: stream's directory", "engine/jetstream/$G/streams/LEDGER", last, []outcomes{
			{"deleted", healed, healed},
			{"old copy", healed, healed},
			{"another box's", repaired, repaired},
		}},
		{"engine: its directory", "engine", last, []outcomes{
			{"deleted", healed, healed},
			{"old copy", healed, healed},
			{"another box's", repaired, repaired},
		}},
		{"archive: log, first file", "archive/log/*.log", first, []outcomes{
			{"bit flipped early", repaired, repaired},
		}},
		{"archive: log, last file", "archive/log/*.log", last, []outcomes{
			{"bit flipped at the end", healed, repaired},
			{"truncated", healed, repaired},
			{"truncated a little", healed, repaired},
			{"emptied", healed, repaired},
			{"deleted", healed, repaired},
		}},
		{"archive: log's directory", "archive/log", last, []outcomes{
			{"deleted", repaired, repaired},
			{"old copy", repaired, repaired},
		}},
		{"archive: full bundle", "archive/tile/entries/003", last, []outcomes{
			{"bit flipped", repaired, repaired},
			{"truncated", repaired, repaired},
			{"deleted", repaired, repaired},
		}},
		{"archive: partial bundle", "archive/tile/entries/*.p/*", last, []outcomes{
			{"bit flipped", healed, healed},
			{"truncated", healed, healed},
			{"deleted", healed, healed},
		}},
		{"archive: full tile", "archive/tile/0/003", last, []outcomes{
			{"bit flipped", healed, healed},
			{"truncated", healed, healed},
			{"deleted", healed, healed},
		}},
		{"archive: partial tile", "archive/tile/0/*.p/*", last, []outcomes{
			{"bit flipped", healed, healed},
			{"truncated", healed, healed},
			{"deleted", healed, healed},
		}},
		{"archive: tile of level 1", "archive/tile/1/000.p/*", last, []outcomes{
			{"bit flipped", healed, healed},
			{"truncated", healed, healed},
			{"deleted", healed, healed},
		}},
		{"archive: checkpoint", "archive/checkpoint", last, []outcomes{
			{"bit flipped", repaired, repaired},
			{"truncated", repaired, repaired},
			{"deleted", repaired, repaired},
			{"old copy", repaired, repaired},
			{"another box's", repaired, repaired},
		}},
		{"archive: key", "archive/key", last, []outcomes{
			{"bit flipped", repaired, repaired},
			{"truncated", repaired, repaired},
			{"deleted", healed, healed},
			{"another box's", repaired, repaired},
		}},
		{"archive: blob", "archive/blob/*/*", last, []outcomes{
			{"bit flipped", lost, lost},
			{"truncated", lost, lost},
			{"deleted", lost, lost},
		}},
		{"archive: its directory", "archive", last, []outcomes{
			{"deleted", lost, lost},
			{"old copy", healed, healed},
			{"another box's", lost, lost},
		}},
		{"snapshot", "snapshot", last, []outcomes{
			{"bit flipped", healed, healed},
			{"truncated", healed, healed},
			{"deleted", healed, healed},
			{"old copy", healed, healed},
			{"another box's", healed, healed},
		}},
		{"signer.key", "signer.key", last, []outcomes{
			{"bit flipped", lost, lost},
			{"truncated", lost, lost},
			{"deleted", lost, lost},
			{"another box's", lost, lost},
		}},
		{"verifier.key", "verifier.key", last, []outcomes{
			{"bit flipped", healed, healed},
			{"truncated", healed, healed},
			{"deleted", healed, healed},
			{"another box's", healed, healed},
		}},
		{"api.token", "api.token", last, []outcomes{
			{"deleted", healed, healed},
		}},
		{"gate.token", "gate.token", last, []outcomes{
			{"deleted", healed, healed},
		}},
	} {
		for _, o := range f.outcomes {
			if o.killed != none {
				all = append(all, corruption{"killed", f.kind, f.file, f.pick, o.damage, o.killed})
			}
			all = append(all, corruption{"stopped", f.kind, f.file, f.pick, o.damage, o.stopped})
		}
	}
	return all
}

// none is the outcome where there is no such file.
const none = ""

type outcomes struct{ damage, killed, stopped string }

func first(names []string) string { return slices.Min(names) }
func last(names []string) string  { return slices.Max(names) }
