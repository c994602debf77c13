package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/backup"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE.tar.gz",
		Short: "Copy the box to one file",
		Long: `Backup writes everything of a box that can't be made again to one file: the ledger's
archive with its log, wherever they lie, the keys, the tokens, what sessions left, and what the
gate's checks printed. The box may run: the copy ends at a whole event, and has all that was acknowledged before it began. It is
verified before the file appears. Work in git is in your repository, and not in here.

Of a box in a cluster it has what the last checkpoint there covers, and not its place in the cluster: restored, it
stands alone.

The file holds the key that signs the ledger, and the tokens: whoever has it can act as
this box. Only you can read it; keep it so, on another disk. It takes room for an
unpacked copy while it is written.`,
		Example: `  signalbox backup /mnt/backup/box-1.tar.gz
  signalbox restore /mnt/backup/box-1.tar.gz --dir restored`,
		Args: one("the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.archiveDir(place{})
			if err != nil {
				return err
			}
			files, err := a.files(place{}, dir)
			if err != nil {
				return err
			}
			r, err := backup.Write(cmd.Context(), a.dir, files, args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, a.saidOfBackup(r, map[string]any{"file": args[0]}))
			}
			fmt.Fprintf(a.Out, "%s on %s backed up to %s and verified\n", english.Count(int(r.Events), "event"), english.Count(r.Items, "work item"), safetext.Escape(args[0]))
			if r.Member {
				fmt.Fprintln(a.Out, "The box is in a cluster: what is restored stands alone, with what the last checkpoint here covers.")
			}
			fmt.Fprintln(a.Out, "It holds the signer's key and the tokens: keep it to yourself.")
			return nil
		},
	}
}

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE.tar.gz",
		Short: "Make a box of a backup",
		Long: `Restore unpacks a backup into the box's directory (--dir), which has to be empty or not
there, with the archive in it. It verifies the ledger first, and refuses a file that was
cut off or changed. Then start the box. An empty directory is replaced: it can't be a
link, a mount point, or the directory you are in.

A backup of a box in a cluster becomes a box that stands alone, for when all boxes of the cluster are lost: a disk that
was put back never takes its place there again. While one of them is left, signalbox cluster replace there takes in a
new box, which fetches the ledger.

The box goes on from the backup. What was recorded after it is gone: a checkpoint
that was signed since does not fit any more, as ledger check tells, and an agent that got
its lease since must be ended, as its session may be given out again. Never run both.
In a repository that has merges which the box made since, it does not start: they
carry later checkpoints, and a new ledger has to be begun there.`,
		Example: `  signalbox restore /mnt/backup/box-1.tar.gz
  signalbox up`,
		Args: one("the file to restore"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.settings("")
			if err != nil {
				return err
			}
			file, err := openNamed(cmd.Context(), args[0])
			if err != nil {
				return notThere(err, args[0], "name one that `signalbox backup` has written")
			}
			defer func() { _ = file.Close() }() // read only
			r, err := backup.Restore(cmd.Context(), file, a.dir)
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, a.saidOfBackup(r, map[string]any{"directory": a.dir, "archive_setting": c.Archive.Dir, "segments_setting": c.Archive.Segments, "mirror_setting": c.Archive.Mirror}))
			}
			fmt.Fprintf(a.Out, "%s on %s restored to %s and verified\n", english.Count(int(r.Events), "event"), english.Count(r.Items, "work item"), safetext.Escape(a.dir))
			if r.Member {
				fmt.Fprintln(a.Out, "The box was in a cluster, and this one stands alone. While boxes of the cluster are left, do not start it: take a new one in there,\nwith `signalbox cluster replace` at one that is left.")
			}
			a.sayPlaces(c.Archive)
			return nil
		},
	}
}

// sayPlaces says what to do before a restored box is started whose settings name other directories.
func (a *app) sayPlaces(at config.Archive) {
	note, dir := a.Paint(command.Yellow, "note"), safetext.Escape(a.dir)
	if at.Dir != "" {
		fmt.Fprintf(a.Out, "%s: %s says that the archive lies in %s: before you start the box, put %s/archive there, or take the setting out\n",
			note, config.File, safetext.Escape(at.Dir), dir)
	}
	if at.Segments != "" {
		fmt.Fprintf(a.Out, "%s: %s says that the log lies in %s: before you start the box, move %s/archive/log/*.log there, or take the setting out\n",
			note, config.File, safetext.Escape(at.Segments), dir)
	}
	if at.Mirror != "" {
		fmt.Fprintf(a.Out, "%s: %s says that the log is mirrored in %s: what is there may be newer than the backup, and is taken if it goes on from it; move it away if you do not want that\n",
			note, config.File, safetext.Escape(at.Mirror))
	}
}

// saidOfBackup adds to what is said of a backup what is in it. Of a box that was in no cluster it says what it said before there were any.
func (a *app) saidOfBackup(r backup.Report, said map[string]any) map[string]any {
	said["events"], said["items"] = r.Events, r.Items
	if r.Member {
		said["member"] = true
	}
	return said
}
