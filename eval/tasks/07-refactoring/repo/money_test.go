package money

import "testing"

func TestMoney(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Price(150), "1.50 EUR"}, {Price(-205), "-2.05 EUR"}, {Price(0), "0.00 EUR"},
		{Refund(150), "-1.50 EUR"}, {Refund(-205), "+2.05 EUR"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
