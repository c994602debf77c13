package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/advice"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/oracle/adviser"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

// adviseCommand is the expert that a session starts for an agent with adapter: ask. It knows no box: what it does is
// recorded by the session.
func (a *app) adviseCommand() *cobra.Command {
	return &cobra.Command{
		Use:    advice.Command,
		Short:  "Answer an expert's request with a model and tools (a session starts it)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return adviser.Run(cmd.Context(), a.In, a.Out, adviser.Settings{Check: a.checkAdvice, Open: a.openAdvice})
		},
	}
}

// advised are the settings of a question that an expert answers.
func (a *app) advised(ctx context.Context, s advice.Settings) (oracle.Settings, toolbox.Config, error) {
	q := asking{model: s.Model, tools: s.Tools, tree: s.Tree}
	if err := a.complete(&q); err != nil {
		return oracle.Settings{}, toolbox.Config{}, err
	}
	settings, err := a.oracleSettings(ctx, q)
	if err != nil {
		return oracle.Settings{}, toolbox.Config{}, err
	}
	if q.tools == "" {
		return settings, toolbox.Default("."), nil
	}
	c, err := awaited(ctx, func() (toolbox.Config, error) { return toolbox.Load(q.tools) })
	return settings, c, err
}

// checkAdvice says what is wrong with the settings. No server is started.
func (a *app) checkAdvice(ctx context.Context, s advice.Settings) error {
	settings, _, err := a.advised(ctx, s)
	if err == nil {
		_, err = oracle.New(settings)
	}
	return err
}

// openAdvice opens what the settings name.
func (a *app) openAdvice(ctx context.Context, s advice.Settings) (oracle.Settings, func(), error) {
	settings, c, err := a.advised(ctx, s)
	if err != nil {
		return oracle.Settings{}, nil, err
	}
	tools, err := toolbox.Open(ctx, c)
	if err != nil {
		return oracle.Settings{}, nil, err
	}
	settings.Tools = tools
	return settings, func() { _ = tools.Close() }, nil // its processes are ended in any case
}
