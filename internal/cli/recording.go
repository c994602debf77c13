package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) treeReplayCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "replay FILE",
		Short: "Show a recorded question's run again, without running anything",
		Long: `Replay goes through a recording that ask --record has written, and prints the question, what each tick
of the tree did, and the answer. No model is asked and no tool called. With --json it prints the question, the trace,
the status, whether the recording comes to an end of its own, and the answer if it does.`,
		Example: `  signalbox ask --record question.rec "where are leases renewed?"
  signalbox tree replay question.rec`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.replay(cmd.Context(), args[0]) },
	}
}

func (a *app) treeResumeCommand() *cobra.Command {
	var q asking
	cmd := &cobra.Command{
		Use:   "resume FILE",
		Short: "Go on with a question whose process was stopped",
		Long: `Resume goes on with a question from the recording that ask --record has written, wherever its
process was stopped. What the model said and what tools returned comes from the recording; nothing
of it is asked or called again. A tool that was being called may have done its work: one that only
reads is called again; of any other the model is told that the call may have been carried out. The
question is asked with the settings that it was asked with, in the same directory; keys are read
from the environment, and --allow has to be given again. The output is that of ask, from the beginning, and the exit
codes are those of ask. A question that had its answer has the same again.

In the ledger the question that is gone on with is a conversation of its own.`,
		Example: `  signalbox tree resume question.rec`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := openRecording(args[0])
			if err != nil {
				return err
			}
			question, talk, with, err := oracle.Recorded(file)
			if err = errors.Join(err, file.Close()); err != nil {
				return fmt.Errorf("%s: %w", safetext.Escape(args[0]), err)
			}
			q.resume, q.talk = args[0], talk
			if err := q.from(with); err != nil {
				return err
			}
			return a.ask(cmd.Context(), q, question)
		},
	}
	q.liveFlags(cmd.Flags())
	return cmd
}

// with is what the recording of a question keeps of how it was asked. Keys are not in it.
func (q *asking) with() (map[string]any, error) {
	dir, err := os.Getwd()
	return map[string]any{"provider": q.provider, "model": q.model, "base_url": q.baseURL, "tools": q.tools, "tree": q.tree,
		"prompts": q.prompts, "directory": dir}, err
}

// from takes over how a question was asked.
func (q *asking) from(with map[string]any) error {
	for name, to := range map[string]*string{"provider": &q.provider, "model": &q.model, "base_url": &q.baseURL, "tools": &q.tools,
		"tree": &q.tree, "prompts": &q.prompts} {
		*to, _ = with[name].(string)
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	if there, _ := with["directory"].(string); there != here {
		return fmt.Errorf("the question was asked in %s: go there, and resume it", safetext.Escape(there))
	}
	return nil
}

// openRecording opens a recording that is there. It decides what a model is told and which
// tools are called, so nobody else may have written it.
func openRecording(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, notThere(err, name, "`signalbox ask --record FILE` writes one")
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is no regular file, so it is no recording", safetext.Escape(name))
	case info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows":
		err = fmt.Errorf("others can write to %s, and a recording says what is done next: look at it, and then `chmod 600` it", safetext.Escape(name))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// record opens what a question is recorded in: a new file, or the one that is gone on with.
// Nobody else goes on with it meanwhile.
func (q *asking) openRecord() (_ bt.RecordingFile, closeIt func(), err error) {
	name := q.resume
	var file *os.File
	if name != "" {
		file, err = openRecording(name)
	} else {
		name = q.record
		file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s is there already: name another file, or go on with it with `signalbox tree resume`", safetext.Escape(name))
		}
	}
	if err != nil {
		return nil, nil, err
	}
	release, err := filelock.Take(name)
	switch {
	case errors.Is(err, filelock.ErrUnsupported):
		release = func() error { return nil }
	case err != nil:
		return nil, nil, errors.Join(fmt.Errorf("%s is in use: %w", safetext.Escape(name), err), file.Close())
	}
	return file, func() { _ = errors.Join(file.Close(), release()) }, nil // every line was written at once
}

// replay shows a recorded run.
func (a *app) replay(ctx context.Context, name string) error {
	file, err := openRecording(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only read
	question, talk, with, err := oracle.Recorded(file)
	if err != nil {
		return fmt.Errorf("%s: %w", safetext.Escape(name), err)
	}
	treeName, _ := with["tree"].(string)
	tree, err := loadTree(ctx, treeName)
	if err != nil {
		return err
	}
	program, err := oracle.Compile(tree)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	var trace, last []byte // the last tick is no trace if it was cut off
	status, err := program.Replay(file, func(tick int, at time.Duration, entries []bt.Entry) {
		trace = append(trace, last...)
		last = program.AppendTrace(nil, tick, at, entries)
	})
	ended := err == nil
	if !ended && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", safetext.Escape(name), err)
	}
	if ended {
		trace = append(trace, last...)
	} else {
		status = bt.Running
	}
	ended = ended && status.Finished()
	told := map[string]any{"question": question, "status": status, "ended": ended, "trace": string(trace)}
	var answer oracle.Answer
	if ended {
		if answer, err = recalled(ctx, file, tree, question, talk); err != nil {
			return fmt.Errorf("%s: %w", safetext.Escape(name), err)
		}
		told["answer"] = answer
	}
	if a.JSON {
		return command.WriteJSON(a.Out, told)
	}
	if _, err := fmt.Fprintf(a.Out, "asked:\n%s\n%s", indented(question), trace); err != nil {
		return err
	}
	if !ended {
		a.remark(command.Yellow, "the recording ends here: `signalbox tree resume` goes on with the question")
		return nil
	}
	_, err = fmt.Fprintf(a.Out, "\n%s:\n%s", answer.Outcome, indented(answer.Text))
	return err
}

// recalled is the answer in a recording of a question that has one. It is had by going on with the recording, where
// nothing is left to do.
func recalled(ctx context.Context, file *os.File, tree bt.Tree, question string, talk oracle.Talk) (oracle.Answer, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return oracle.Answer{}, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return oracle.Answer{}, err
	}
	o, err := oracle.New(oracle.Settings{Tree: tree, Talk: talk, Record: readOnly{bytes.NewReader(text)}})
	if err != nil {
		return oracle.Answer{}, err
	}
	return o.Ask(ctx, question, func(oracle.Chunk) {})
}

// readOnly is a whole recording that nothing is added to.
type readOnly struct{ *bytes.Reader }

func (readOnly) Write([]byte) (int, error) {
	return 0, errors.New("what is replayed is not written to")
}

func (readOnly) Truncate(int64) error { return nil }
