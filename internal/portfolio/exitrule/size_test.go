package exitrule_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

func TestSize(t *testing.T) {
	exit := exitrule.Verdict{AsOf: day("2024-05-31"), Assessment: exitrule.Exit, Gap: 0.03, Volatility: 0.45, Stop: dec("88.50")}
	for _, c := range []struct {
		name       string
		held       string
		set        func(*exitrule.Config, *exitrule.Verdict)
		sell, stop string // quantities; "" is no order
		note       string
	}{
		{"half", "100", nil, "50", "50", ""},
		{"three quarters over five points", "100", func(_ *exitrule.Config, v *exitrule.Verdict) { v.Gap = 0.0501 }, "75", "25", ""},
		{"half at five points", "100", func(_ *exitrule.Config, v *exitrule.Verdict) { v.Gap = 0.05 }, "50", "50", ""},
		{"rounded down", "101", nil, "50", "51", ""},
		{"one share is sold", "1", nil, "1", "", ""},
		{"a fraction is kept", "1.5", nil, "1", "", ""},
		{"less than a share", "0.9", nil, "", "", "only 0.9 of a share is held, and the least that can be sold in an account is 1"},
		{"less than a share, in fractions", "0.9", func(c *exitrule.Config, _ *exitrule.Verdict) { c.Fractional = true }, "0.45", "0.45", ""},
		{"the least fraction", "0.000001", func(c *exitrule.Config, _ *exitrule.Verdict) { c.Fractional = true }, "0.000001", "", ""},
		{"a short position", "-10", nil, "", "", "the position is short; exits are worked out for shares that are held"},
		{"nothing", "0", nil, "", "", "nothing is held"},
		{"no exit", "100", func(_ *exitrule.Config, v *exitrule.Verdict) { v.Assessment = exitrule.Monitor }, "", "", "there is no exit, so nothing is to be sold"},
		{"no stop", "100", func(_ *exitrule.Config, v *exitrule.Verdict) { v.Stop = dec("0") }, "50", "", "the price is too low for a stop below it"},
		{"linear, 3 of 5 points", "100", func(c *exitrule.Config, _ *exitrule.Verdict) { c.Sizing.Method = exitrule.Linear }, "65", "35", ""},
		{"linear ends at the wide fraction", "100", func(c *exitrule.Config, v *exitrule.Verdict) { c.Sizing.Method, v.Gap = exitrule.Linear, 0.5 }, "75", "25", ""},
		{"45 % a year to 15 %", "300", func(c *exitrule.Config, _ *exitrule.Verdict) { c.Sizing.Method = exitrule.VolatilityTarget }, "199", "101", ""},
		{"calm already", "300", func(c *exitrule.Config, v *exitrule.Verdict) {
			c.Sizing.Method, v.Volatility = exitrule.VolatilityTarget, 0.1
		}, "150", "150", ""},
		{"everything", "10", func(c *exitrule.Config, _ *exitrule.Verdict) {
			c.Sizing.Fraction, c.Sizing.WideFraction = dec("1"), dec("1")
		}, "10", "", ""},
	} {
		config, verdict := exitrule.Default(), exit
		if c.set != nil {
			c.set(&config, &verdict)
		}
		plan := exitrule.Size(config, verdict, "ABC", dec(c.held))
		quantities := []string{"", ""}
		for i, o := range plan.Orders {
			quantities[i] = o.Quantity.String()
		}
		if diff := cmp.Diff([]string{c.sell, c.stop, c.note}, append(quantities, plan.Note)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// What is sold comes from the parts in their order, in whole shares of each.
func TestSizeOfParts(t *testing.T) {
	exit := exitrule.Verdict{AsOf: day("2024-05-31"), Assessment: exitrule.Exit, Stop: dec("88.50")}
	for _, c := range []struct {
		parts, sales []string
		sell, keep   string
		stop         string
	}{
		{[]string{"30", "70"}, []string{"30", "20"}, "50", "50", "50"},
		{[]string{"10.5", "10.5"}, []string{"10", "0"}, "10", "11", "10"},
		{[]string{"5.9", "10.5", "3"}, []string{"5", "4", "0"}, "9", "10.4", "9"},
		{[]string{"1.5", "0.9"}, []string{"1", "0"}, "1", "1.4", ""},
		{[]string{"0.5", "0.9"}, []string{"0", "0"}, "0", "1.4", ""},
	} {
		var parts []portfolio.Decimal
		for _, p := range c.parts {
			parts = append(parts, dec(p))
		}
		plan := exitrule.Size(exitrule.Default(), exit, "ABC", parts...)
		var sales []string
		for _, s := range plan.Sales {
			sales = append(sales, s.String())
		}
		stop := ""
		if len(plan.Orders) == 2 {
			stop = plan.Orders[1].Quantity.String()
		}
		if diff := cmp.Diff(append(c.sales, c.sell, c.keep, c.stop), append(sales, plan.Sell.String(), plan.Keep.String(), stop)); diff != "" {
			t.Errorf("%v: %s", c.parts, diff)
		}
	}
}

// The orders as they are sent: the source's keys, and what a broker's form asks for.
func TestOrders(t *testing.T) {
	exit := exitrule.Verdict{AsOf: day("2024-05-30"), Assessment: exitrule.Exit, Stop: dec("88.50")}
	got, err := json.Marshal(exitrule.Size(exitrule.Default(), exit, "ABC", dec("100")).Orders)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"action":"sell","ticker":"ABC","quantity":"50","order_type":"market","time_in_force":"day"},` +
		`{"action":"stop","ticker":"ABC","quantity":"50","order_type":"stop","time_in_force":"good_till_cancelled",` +
		`"stop_price":"88.5","condition":"after the sale is filled","review_date":"2024-06-03"}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// The review is after the next month that will be complete.
func TestReview(t *testing.T) {
	for asOf, want := range map[string]string{
		"2024-05-30": "2024-06-03", // 1 June is a Saturday
		"2024-05-31": "2024-07-01", // May is complete
		"2024-06-01": "2024-07-01",
		"2024-12-30": "2025-01-02",
	} {
		exit := exitrule.Verdict{AsOf: day(asOf), Assessment: exitrule.Exit, Stop: dec("1")}
		orders := exitrule.Size(exitrule.Default(), exit, "ABC", dec("100")).Orders
		if got := orders[1].ReviewDate.String(); got != want {
			t.Errorf("on %s: %s, want %s", asOf, got, want)
		}
	}
}

// Settings change what they name, and leave the rest as it is by default.
func TestSettings(t *testing.T) {
	config := exitrule.Default()
	err := yaml.Unmarshal([]byte(`
rules:
  - name: slow_trend
    like: trend_sma10m
    months: 12
    primary: true
  - {name: regime_index_200d, band: 0}
index: ^GSPC
sizing: {fraction: 0.333}
tick: 0.05
`), &config)
	if err != nil {
		t.Fatal(err)
	}
	if err := config.Check(); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"rules":[{"name":"slow_trend","like":"trend_sma10m","primary":true,"months":12},` +
		`{"name":"regime_index_200d","primary":false,"band":"0"}],"index":"^GSPC",` +
		`"sizing":{"method":"steps","fraction":"0.333","wide_fraction":"0.75","wide_gap":"0.05","target_volatility":"0.15"},` +
		`"stop":{"method":"chandelier","days":22,"multiple":"3","fraction":"0.1"},"tick":"0.05","fractional":false}`
	if diff := cmp.Diff(strings.Split(want, ","), strings.Split(string(got), ",")); diff != "" {
		t.Error(diff)
	}
}
