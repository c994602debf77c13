package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/safetext"
)

// tokenVariable is where a client's token comes from.
const tokenVariable = "SIGNALBOX_TOKEN"

// token returns the token that requests to a box carry: a client's, if there is one in the environment, or the owner's.
func (a *app) token(dir box.Dir) (string, error) {
	token := os.Getenv(tokenVariable)
	switch {
	case token == "" || a.inBox:
		return dir.APIToken()
	case safetext.Escape(token) != token: // no request could carry it
		return "", errBadToken
	}
	return token, nil
}

var errBadToken = errors.New(tokenVariable + " is no token: it has a character that none has, such as the end of a line; set it again")

func (a *app) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Let others use the box: tokens for some of it",
		Long: `Whoever can read the box's directory has its own token (api.token), and may do everything. For others, such as a
script, a colleague's tool or an agent's tool server, make a token of its own, for some of it: what it does is recorded in
its name, and it can be revoked. The scopes:

  read     look at everything
  answer   read; answer questions, review work
  operate  read; start, steer and end work
  metrics  nothing but figures about the box

With a token in ` + tokenVariable + ` the command line uses that instead of the box's own. Tokens are made, listed and revoked by
the box's owner alone.`,
		Example: `  signalbox token create --name ci --scope operate --ttl 720h
  signalbox token create --name ana --scope operate,answer
  signalbox token list
  signalbox token revoke ci`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
	return cmd
}

func (a *app) tokenCreateCommand() *cobra.Command {
	var name string
	var scopes []string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "create --name NAME --scope SCOPE",
		Short: "Make a token, and print it this once",
		Long: `Create makes a token of 256 random bits for a client, and prints it. Nobody can print it again: the ledger keeps its SHA-256.
If it is lost, revoke it and make another one. It does not need a box to be running.

With --json it prints id, name, scopes, created_at, expires_at (null if it never expires) and token.`,
		Example: `  signalbox token create --name dashboard --scope read
  signalbox token create --name ci --scope read --scope answer --ttl 720h
  ` + tokenVariable + `=$(signalbox token create --name mail --scope answer) signalbox inbox`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := api.NewToken{Name: name, TTLMS: ttl.Milliseconds()}
			for _, s := range scopes {
				q.Scopes = append(q.Scopes, access.Scope(strings.TrimSpace(s)))
			}
			if cmd.Flags().Changed("ttl") && ttl < access.MinTTL {
				return a.UsageError("--ttl %v: %w", ttl, access.ErrBadTTL)
			}
			made, err := operate(cmd.Context(), a, func(c *api.Client) (api.CreatedToken, error) { return c.CreateToken(cmd.Context(), q) })
			if err != nil {
				return a.badValue(err)
			}
			if a.JSON {
				return command.WriteJSON(a.Out, made)
			}
			fmt.Fprintln(a.Out, made.Secret)
			fmt.Fprintf(a.Err, "%s, for %s, %s. It is shown this once: keep it as you keep a password.\nUse it: %s=TOKEN signalbox …, or the header Authorization: Bearer TOKEN. End it: signalbox token revoke %s\n",
				made.ID, access.Words(made.Scopes, ", "), until(made.ExpiresAt), tokenVariable, made.Name)
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the client's `NAME`, which events have: a-z, 0-9, '.', '_' and '-'")
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "what it may (`SCOPE`: read, answer, operate, metrics); more than once, or with commas")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "how long it is good, such as 12h or 720h; until it is revoked, if left out (`DURATION`)")
	require(cmd, "name")
	require(cmd, "scope")
	var all []string
	for _, s := range access.Scopes() {
		all = append(all, string(s))
	}
	complete(cmd, "scope", all)
	return cmd
}

// until says until when a token is good.
func until(expires *time.Time) string {
	if expires == nil {
		return "until it is revoked"
	}
	return "until " + expires.Local().Format("2006-01-02 15:04:05")
}

func (a *app) tokenListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tokens that there are",
		Long: `List shows the tokens that are neither revoked nor expired, in the order of making, and not what they are. When one was
last used is known since the box was started. It does not need a box to be running.

With --json it prints an array of id, name, scopes, created_at, expires_at (null if it never expires) and last_used (left
out if it was not used).`,
		Example: `  signalbox token list
  signalbox token list --json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := look(cmd.Context(), a, func(c *api.Client) ([]api.ClientToken, error) { return c.Tokens(cmd.Context()) })
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, all)
			}
			if len(all) == 0 {
				fmt.Fprintln(a.Err, "no tokens: `signalbox token create` makes one")
				return nil
			}
			t := command.NewTable("ID", "NAME", "SCOPES", "GOOD", "LAST USED")
			for _, k := range all {
				used := ""
				if !k.LastUsed.IsZero() {
					used = k.LastUsed.Local().Format("2006-01-02 15:04:05")
				}
				t.Add(k.ID, safetext.Escape(k.Name), access.Words(k.Scopes, ", "), until(k.ExpiresAt), cmp.Or(used, "-"))
			}
			t.Write(a.Out, a.Columns())
			return nil
		},
	}
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "End a token at once",
		Long: `Revoke ends a token: from then on it is nobody's. What its client has done stays as it is, and its name can be given to
another token. It does not need a box to be running.

With --json it prints what token list has of it.`,
		Example: `  signalbox token revoke ci
  signalbox token revoke K-00003`,
		Args: one("the id of a token, or its client's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			gone, err := operate(cmd.Context(), a, func(c *api.Client) (api.ClientToken, error) { return c.RevokeToken(cmd.Context(), args[0]) })
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, gone)
			}
			fmt.Fprintf(a.Out, "%s of the client %s is revoked\n", gone.ID, safetext.Escape(gone.Name))
			return nil
		},
	}
}
