package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/report"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report FILE",
		Short: "One page of everything, for a person",
		Long: `Report writes one page: what needs deciding, positions, realised gains, exit signals with their
charts, losses that could be realised, and a calendar of wash sales. A FILE that ends in .html is a
page that needs nothing else and no network; one that ends in .md is Markdown; - prints Markdown.`,
		Example: `  portfolio report report.html
  portfolio report -`,
		Args: one("a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, err := reportWriter(args[0])
			if err != nil {
				return a.UsageError("%w", err)
			}
			var data report.Data
			err = a.with(cmd.Context(), func(s *answer.Service) error {
				data, err = s.Report(cmd.Context())
				return err
			})
			if err != nil {
				return err
			}
			var page bytes.Buffer
			if err := write(&page, data); err != nil {
				return err
			}
			if args[0] == "-" {
				_, err := a.Out.Write(page.Bytes())
				return err
			}
			return a.writeFile(args[0], "report", page.Bytes())
		},
	}
}

// writeFile writes what was asked for as a file, and says where it is.
func (a *app) writeFile(name, what string, content []byte) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory; name a file", safetext.Escape(path))
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("there is no directory %s", safetext.Escape(filepath.Dir(path)))
	}
	if err := durable.WriteFile(path, content); err != nil {
		return err
	}
	if a.JSON {
		return command.WriteJSON(a.Out, map[string]string{"file_path": path})
	}
	fmt.Fprintf(a.Out, "The %s is in %s\n", what, safetext.Escape(path))
	return nil
}

func reportWriter(path string) (func(io.Writer, report.Data) error, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".html", ".htm":
		return report.HTML, nil
	case ".md", ".markdown":
		return report.Markdown, nil
	}
	if path == "-" {
		return report.Markdown, nil
	}
	return nil, fmt.Errorf("%s: a report's name ends in .html or .md", safetext.Escape(path))
}
