package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := command.BuildVersion()
			if a.json {
				return command.WriteJSON(a.Out, v)
			}
			_, err := fmt.Fprintf(a.Out, "signalbox %s\n%s, %s\n", v.Version, v.Go, v.System)
			return err
		},
	}
}
