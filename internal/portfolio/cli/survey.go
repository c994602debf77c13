package cli

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/safetext"
)

// saySurvey shows the exit signals of all positions: a row for each, and what to do about those to leave.
func (a *app) saySurvey(survey *exitsignal.Survey, file agentformat.File) error {
	snapshot := survey.Snapshot()
	defer a.sayFile(file)
	if err := a.sayVerdict(survey.Status, snapshot.Verdict, snapshot.Flags()); err != nil {
		return err
	}
	if len(survey.Results) > 0 {
		fmt.Fprintln(a.Out)
		t := command.NewTable("ticker", "assessment", ">shares", ">sell", ">last", "on")
		for _, r := range survey.Results {
			sell, last := "", ""
			if r.TradeEligible && r.Sizing != nil {
				sell = r.Sizing.Sell.String()
			}
			if !r.LastPriceDate.IsZero() {
				last = r.LastPrice.Cents()
			}
			t.Add(r.Ticker, r.OverallAssessment, r.Position.Shares.String(), sell, last, r.LastPriceDate.String())
		}
		t.Write(a.Out, a.Columns())
	}
	for _, r := range survey.Leaving() {
		fmt.Fprintln(a.Out)
		for _, line := range r.Lines() {
			fmt.Fprintln(a.Out, safetext.Escape(line))
		}
	}
	fmt.Fprintf(a.Out, "\n%s\n", a.Paint(command.Faint, survey.Disclaimer))
	return nil
}
