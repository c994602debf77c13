package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/qr"
)

func (a *app) pageCommand() *cobra.Command {
	var scope, name, address string
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Open the box in a browser: print a link that logs it in",
		Long: `Page prints a link to the page of the box that runs: what waits for you, with its evidence, to answer and to review, and the
runs, to steer. The link logs one browser in, once, within 10 minutes; the browser stays logged in for 7 days, or until you log out there. What it
does is recorded in a name of its own, which begins with page-: signalbox token list shows it, and token revoke ends it. With --name lea
it is page-lea, and the ledger says of each answer and review that it was client:page-lea.

The scope says what the browser may do:

  read     look at everything
  answer   read; answer questions, review work
  operate  answer; steer and end work

The link leads to a name that only this box has, below localhost, which browsers find by themselves. It is the box's
owner that makes one, and a box has to be running (signalbox up, or run).

With --address it is for a browser elsewhere, on your phone for instance: the box has to listen beyond its machine with a
certificate of yours, which has that name (signalbox up --listen ADDRESS:PORT --tls-cert FILE --tls-key FILE). On a terminal
with colours it prints the link as a QR code, too, for the phone's camera.

With --json it prints url, scope and expires_at.`,
		Example: `  signalbox page
  signalbox page --scope read
  signalbox page --name lea
  signalbox page --address box.example.org --scope answer`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			link, err := ask(cmd.Context(), a, box.Dir.APIToken, func(c *api.Client) (api.PageLink, error) {
				return c.Page(cmd.Context(), api.NewPage{Scope: access.Scope(scope), Name: name, Address: address})
			})
			if err != nil {
				return a.badValue(err)
			}
			if a.JSON {
				return command.WriteJSON(a.Out, link)
			}
			if address != "" {
				fmt.Fprint(a.Out, a.codeOf(link.URL))
			}
			fmt.Fprintln(a.Out, link.URL)
			fmt.Fprintf(a.Err, "Open it in a browser: it logs that in to %s, once, until %s.\n", link.Scope, link.ExpiresAt.Local().Format("15:04:05"))
			return nil
		},
	}
	scopes := []string{string(access.Read), string(access.Answer), string(access.Operate)}
	cmd.Flags().StringVar(&scope, "scope", string(access.Operate), "what the browser may do (`SCOPE`: read, answer, operate)")
	complete(cmd, "scope", scopes)
	cmd.Flags().StringVar(&name, "name", "", "whose browser it is: what it does is recorded as client:page-`NAME`")
	cmd.Flags().StringVar(&address, "address", "", "a name of the box's beyond its machine, that its certificate has, `NAME` or NAME:PORT: the link leads there")
	return cmd
}

// paper is black on white, whatever the terminal's colours are: a camera wants a code that is darker than its ground.
const paper = "30;107"

// codeOf draws a link for a camera, if there is a terminal that has colours and is wide enough; it is empty elsewhere.
func (a *app) codeOf(link string) string {
	code, err := qr.Encode(link)
	if err != nil || !a.OutTTY || !a.Color {
		return ""
	}
	if columns, _ := a.Size(); code.Columns() > columns {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(code.String()) {
		b.WriteString(a.Paint(paper, strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}
