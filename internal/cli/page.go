package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
)

func (a *app) pageCommand() *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Open the box in a browser: print a link that logs it in",
		Long: `Page prints a link to the page of the box that runs: what waits for you, with its evidence, to answer and to review, and the
runs, to steer. The link logs one browser in, once, within 10 minutes; the browser stays logged in for 7 days, or until you log out there. What it
does is recorded in a name of its own, which begins with page-: signalbox token list shows it, and token revoke ends it.

The scope says what the browser may do:

  read     look at everything
  answer   read; answer questions, review work
  operate  answer; steer and end work

The link leads to a name that only this box has, below localhost, which browsers find by themselves. It is the box's
owner that makes one, and a box has to be running (signalbox up, or run).

With --json it prints url, scope and expires_at.`,
		Example: `  signalbox page
  signalbox page --scope read`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			link, err := ask(cmd.Context(), a, box.Dir.APIToken, func(c *api.Client) (api.PageLink, error) {
				return c.Page(cmd.Context(), api.NewPage{Scope: access.Scope(scope)})
			})
			if err != nil {
				return a.badValue(err)
			}
			if a.JSON {
				return command.WriteJSON(a.Out, link)
			}
			fmt.Fprintln(a.Out, link.URL)
			fmt.Fprintf(a.Err, "Open it in a browser: it logs that in to %s, once, until %s.\n", link.Scope, link.ExpiresAt.Local().Format("15:04:05"))
			return nil
		},
	}
	scopes := []string{string(access.Read), string(access.Answer), string(access.Operate)}
	cmd.Flags().StringVar(&scope, "scope", string(access.Operate), "what the browser may do (`SCOPE`: read, answer, operate)")
	complete(cmd, "scope", scopes)
	return cmd
}
