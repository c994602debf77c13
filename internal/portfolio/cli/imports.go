package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) importsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "imports",
		Short: "List what was imported, and take it back",
		Long: `Imports lists the files that were read. What a file said wrongly is mended by removing its import
and reading the mended file: reading it alone would add the mended rows to the wrong ones.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s *answer.Service) error {
				imports, err := s.Store.Imports(cmd.Context())
				if err != nil {
					return err
				}
				if err := a.sayImports(imports); err != nil {
					return err
				}
				unread, err := s.Unread(cmd.Context(), a.lastDay())
				a.warnUnread(unread)
				return err
			})
		},
	}
	c.AddCommand(&cobra.Command{
		Use:   "remove ID",
		Short: "Take back the transactions that an import added",
		Long: `Remove takes back the transactions that an import added, and its rows that could not be read. Files
that were read after it and had some of the transactions too are to be imported again; they add what is
missing.`,
		Args: one("an import by its id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return a.UsageError("%.40q is no id of an import; `portfolio imports` lists them", args[0])
			}
			return a.with(cmd.Context(), func(s *answer.Service) error {
				if err := s.Store.RemoveImport(cmd.Context(), id); err != nil {
					return fmt.Errorf("import %d: %w; `portfolio imports` lists them", id, err)
				}
				if a.JSON {
					return command.WriteJSON(a.Out, map[string]int64{"removed": id})
				}
				fmt.Fprintf(a.Out, "Import %d is taken back.\n", id)
				return nil
			})
		},
	})
	return c
}

// An importRow is an import as JSON has it.
type importRow struct {
	ID      int64  `json:"id"`
	Kind    string `json:"kind"`
	File    string `json:"file"`
	Format  string `json:"format"`
	At      string `json:"at"`
	Added   int    `json:"added"`
	Known   int    `json:"known"`
	Changed int    `json:"changed"`
	Unread  int    `json:"unread"`
}

func (a *app) sayImports(imports []store.ImportRow) error {
	list := []importRow{}
	t := command.NewTable(">id", "read", "file", "of", ">added", ">known", ">changed", ">unread")
	for _, i := range imports {
		row := importRow{i.ID, string(i.Kind), i.Name, i.Format, i.At.Format("2006-01-02T15:04:05Z07:00"), i.Added, i.Known, i.Changed, i.Unread}
		list = append(list, row)
		t.Add(fmt.Sprint(row.ID), i.At.Local().Format("2006-01-02 15:04"), safetext.Escape(row.File), row.Kind, fmt.Sprint(row.Added), fmt.Sprint(row.Known), fmt.Sprint(row.Changed), fmt.Sprint(row.Unread))
	}
	if a.JSON {
		return command.WriteJSON(a.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "Nothing was imported yet (portfolio import --help).")
		return nil
	}
	t.Write(a.Out, a.Columns())
	return nil
}
