package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/safetext"
)

// terminalLimit is how many lines of a list a person at a terminal is shown, if no --limit says otherwise.
const terminalLimit = 100

// listHelp says the same about every list.
const listHelp = `They are listed in the order of adding. Without --limit a terminal shows the first 100 and says how
to go on; elsewhere, and with --json, it is all of them. If a list was cut, a line on standard error says so:
with the command for what follows, or with --json as {"next": ID}, which --after takes.`

// part is the part of a list that a command shows.
type part struct{ api.From }

func (p *part) flags(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&p.After, "after", "", "only what comes after this "+what+" (`ID`)")
	limitFlag(cmd, &p.Limit)
}

func limitFlag(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", 0, "no more than this `NUMBER`")
}

// checkLimit refuses a limit that is none.
func (a *app) checkLimit(cmd *cobra.Command, limit int) error {
	if cmd.Flags().Changed("limit") && limit < 1 {
		return a.UsageError("--limit %d: give the number to show at most, from 1, or leave it out", limit)
	}
	return nil
}

// heldItems is how many items of a list, and heldBytes how much of the events, a command holds before it
// prints them. While it prints, which takes as long as a reader pleases, it has no box open.
const (
	heldItems = 10_000
	heldBytes = 8 << 20
)

// showList shows the part of a list that was asked for: as rows for people, or one array of all
// for programs. It says if there is more.
func showList[T any](a *app, cmd *cobra.Command, p part, get func(*api.Client, api.From) (api.Page[T], error), rows func([]T) error) error {
	if p.Limit == 0 && a.OutTTY && !a.JSON {
		p.Limit = terminalLimit
	}
	array := jsonArray{to: a.Out}
	if a.JSON {
		rows = func(page []T) error { return writeAll(&array, page) }
	}
	next, err := api.Pages(p.From, heldItems, func(from api.From) (api.Page[T], error) {
		return look(cmd.Context(), a, func(c *api.Client) (held api.Page[T], err error) {
			held.Next, err = api.Pages(from, api.PageSize, func(from api.From) (api.Page[T], error) { return get(c, from) }, func(page []T) error {
				held.Items = append(held.Items, page...)
				return nil
			})
			return held, err
		})
	}, rows)
	if err != nil {
		return a.badValue(err)
	}
	if a.JSON {
		if err := array.close(); err != nil {
			return err
		}
	}
	if next == "" {
		return nil
	}
	return a.sayMore(cmd, next)
}

// page writes a page of a list; the first has the headings.
func (a *app) page(t *command.Table, begun *bool) {
	if *begun {
		t.WriteRows(a.Out, a.Columns())
		return
	}
	*begun = true
	t.Write(a.Out, a.Columns())
}

// sayNone says to a person that a list is empty, or has ended.
func (a *app) sayNone(what string, p part) {
	if p.After != "" {
		what += " after " + safetext.Escape(p.After)
	}
	fmt.Fprintln(a.Err, "no", what)
}

// badValue makes a usage error of a value that the box refuses.
func (a *app) badValue(err error) error {
	var p *api.Problem
	if errors.As(err, &p) && p.Code == api.CodeInvalid {
		return a.UsageError("%w", err)
	}
	return err
}

// sayMore says on standard error that a list goes on, and how to see the rest.
func (a *app) sayMore(cmd *cobra.Command, next any) error {
	if a.JSON {
		return command.WriteJSON(a.Err, map[string]any{"next": next})
	}
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "after" {
			line += fmt.Sprintf(" --%s %s", f.Name, safetext.ShellWord(f.Value.String()))
		}
	})
	_, err := fmt.Fprintf(a.Err, "there is more: %s --after %v\n", line, next)
	return err
}

// jsonArray writes the elements of an array as they come.
type jsonArray struct {
	to    io.Writer
	begun bool
}

func writeAll[T any](a *jsonArray, page []T) error {
	for _, v := range page {
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		before := ","
		if !a.begun {
			before, a.begun = "[", true
		}
		if _, err := a.to.Write(append([]byte(before), command.InertJSON(data)...)); err != nil {
			return err
		}
	}
	return nil
}

func (a *jsonArray) close() error {
	end := "]\n"
	if !a.begun {
		end = "[]\n"
	}
	_, err := io.WriteString(a.to, end)
	return err
}
