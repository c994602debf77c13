package session

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/descriptors"
	"github.com/signalbox-dev/signalbox/safetext"
)

// HandIn hands in the reports of a dead session that no box has taken, in order. A report that is
// refused for good is set aside, and another that says so takes its place. If send fails otherwise, that
// ends it: what is left can be handed in later. A report that can't be read, set aside or removed holds
// up no other, and is an [ErrDirectory]: nothing more will come of it.
func HandIn(dir string, logger *slog.Logger, send func(api.SessionReport) error) error {
	numbers, err := outbox(dir)
	damage := damaged(err)
	for _, seq := range numbers {
		r, err := readReport(dir, seq)
		if err != nil {
			r.Kind = api.ReportNote // handIn finds out why
		}
		r.Seq = seq
		if err = handIn(dir, outline(r), logger, send); err == nil {
			err = damaged(remove(reportFile(dir, seq)))
		}
		if err != nil && !errors.Is(err, ErrDirectory) {
			return err
		}
		damage = errors.Join(damage, err)
	}
	return damage
}

// damaged makes an [ErrDirectory] of an error about what lies in the directory, unless nothing can be opened
// now.
func damaged(err error) error {
	if err == nil || descriptors.Short(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDirectory, err)
}

// handIn hands in one report of the outbox, of which at least the outline is known. When it returns
// nil, the report is settled.
func handIn(dir string, known api.SessionReport, logger *slog.Logger, send func(api.SessionReport) error) error {
	r, err := readReport(dir, known.Seq)
	if err == nil {
		err = send(r)
	}
	if forGood(err) {
		logger.Error("a report is refused for good, and set aside", "seq", known.Seq, "kind", known.Kind,
			"kept", refusedFile(dir, known.Seq), "error", safetext.Escape(err.Error()))
		if err := setAside(dir, known, err); err != nil {
			return damaged(err)
		}
		return handInSubstitute(dir, known.Seq, logger, send)
	}
	return err
}

// readReport reads a report of the outbox.
func readReport(dir string, seq int) (r api.SessionReport, err error) {
	err = readJSON(reportFile(dir, seq), api.MaxReport, &r)
	if !forGood(err) {
		err = damaged(err)
	}
	return r, err
}

// handInSubstitute hands in what stands for a report that was set aside. If that is refused as well,
// the box can't be told, and the next report goes on.
func handInSubstitute(dir string, seq int, logger *slog.Logger, send func(api.SessionReport) error) error {
	r, err := readReport(dir, seq)
	if err == nil {
		err = send(r)
	}
	if forGood(err) {
		logger.Error("the box can't be told that a report was set aside", "seq", seq, "error", safetext.Escape(err.Error()))
		return nil
	}
	return err
}

// forGood reports whether a report that failed with an error will never be taken: the box says so, or
// its file is not a report any more.
func forGood(err error) bool {
	return api.Refused(err) || errors.Is(err, errUnreadable) || errors.Is(err, fs.ErrNotExist)
}

// setAside moves a report out of the outbox, to where a person can look at it, and puts a substitute
// in its place. What was set aside before stays as it is: then the report is a substitute itself.
func setAside(dir string, known api.SessionReport, why error) error {
	report, kept := reportFile(dir, known.Seq), refusedFile(dir, known.Seq)
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	if !exists(kept) {
		if err := os.Rename(report, kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if exists(report) {
		return nil
	}
	return writeJSON(report, substitute(known, why))
}

// outline is what of a report has a fixed size and a fixed form: enough to tell what it was about.
func outline(r api.SessionReport) api.SessionReport {
	known := api.SessionReport{
		Seq: r.Seq, Kind: r.Kind, Turn: r.Turn, Prompt: r.Prompt, Exit: r.Exit, Usage: r.Usage, Bytes: r.Bytes, SHA256: r.SHA256, At: r.At,
	}
	if known.Check() != nil { // what the report may be refused for
		known.Usage, known.SHA256 = delivery.Usage{}, ""
	}
	return known
}

// substitute says that a report was refused. A turn whose report is refused is one without a signal,
// so that its agent is asked again; an end stays one.
func substitute(known api.SessionReport, why error) api.SessionReport {
	s := known
	s.Denied = fmt.Sprintf("report %d of the session, about %s, which the box does not take: %s (it is kept in refused/%s of the session's directory)",
		known.Seq, subjectOf(known), safetext.Escape(why.Error()), filepath.Base(refusedFile("", known.Seq)))
	switch known.Kind {
	case api.ReportTurn:
		s.Verdict = agentsig.KindUnknown
	case api.ReportEnded:
		s.How, s.Detail = api.HowCrashed, "the report of its end was refused"
	default:
		s.Kind = api.ReportNote
	}
	return s
}

func subjectOf(known api.SessionReport) string {
	switch known.Kind {
	case api.ReportTurn:
		return fmt.Sprintf("turn %d", known.Turn)
	case api.ReportEnded:
		return "its end"
	}
	return "something that ends nothing"
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func refusedFile(dir string, seq int) string {
	return filepath.Join(dir, refusedDir, filepath.Base(reportFile(dir, seq)))
}

// Owes reports whether a session has reports that no box has taken, as far as can be told.
func Owes(dir string) bool {
	numbers, err := outbox(dir)
	return err != nil || len(numbers) > 0
}
