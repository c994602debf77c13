package report

import (
	"bytes"
	_ "embed" // the page and its style
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string

	page = template.Must(template.New("page").Funcs(template.FuncMap{
		"minus": minus,
		"level": level,
		"cells": cells,
	}).Parse(pageText))
)

// htmlPage is what the template gets.
type htmlPage struct {
	view
	Style    template.CSS
	Charts   map[string]*priceChart // by the exit's anchor
	Bars     *lossChart
	Timeline *calendarChart
}

// HTML writes the report as one page. It is written whole or, if w fails, in part.
func HTML(w io.Writer, d Data) error {
	p := htmlPage{view: d.view(), Style: template.CSS(pageStyle), Charts: map[string]*priceChart{}}
	for _, e := range p.Exits {
		p.Charts[e.Anchor] = newPriceChart("chart-"+e.Anchor, e)
	}
	p.Bars = newLossChart(p.Losses)
	p.Timeline = newCalendarChart(d.AsOf, d.Calendar)
	var b bytes.Buffer
	if err := page.Execute(&b, p); err != nil {
		return fmt.Errorf("the report can't be made: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("the report can't be written: %w", err)
	}
	return nil
}

// minus sets a number's sign as a minus rather than as a hyphen.
func minus(s string) string {
	if strings.HasPrefix(s, "-") {
		return "−" + s[1:]
	}
	return s
}

// level is the class of a severity. One that is not known looks like Info.
func level(s agentformat.Severity) string {
	switch s {
	case agentformat.Error, agentformat.Warning, agentformat.Success:
		return string(s)
	}
	return string(agentformat.Info)
}

// A cell of a table; the first of a row names it.
type cell struct {
	Text, Class string
	Head        bool
}

func cells(columns []column, row []string) []cell {
	var list []cell
	for i, text := range row {
		c := cell{text, columns[i].Kind, i == 0}
		switch {
		case c.Class != "number":
		case strings.HasPrefix(text, "-"):
			c.Text, c.Class = minus(text), "number down"
		case text == "0.00" || text == unknown:
			c.Class = "number faint"
		}
		list = append(list, c)
	}
	return list
}
