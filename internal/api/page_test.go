package api_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// A long list is asked for in pages, and in no larger ones than a box answers.
func TestPages(t *testing.T) {
	const all = 2500
	var asked []int
	get := func(from api.From) (api.Page[int], error) {
		asked = append(asked, from.Limit)
		begin := 0
		if from.After != "" {
			begin, _ = strconv.Atoi(from.After)
		}
		page := api.Page[int]{}
		for n := begin + 1; n <= min(all, begin+from.Limit); n++ {
			page.Items = append(page.Items, n)
		}
		if begin+from.Limit < all {
			page.Next = strconv.Itoa(begin + from.Limit)
		}
		return page, nil
	}
	for _, s := range []struct {
		from  api.From
		count int
		next  string
		asked []int
	}{
		{api.From{}, 2500, "", []int{1000, 1000, 1000}},
		{api.From{Limit: 10}, 10, "10", []int{10}},
		{api.From{Limit: 10, After: "2490"}, 10, "", []int{10}},
		{api.From{Limit: 1500}, 1500, "1500", []int{1000, 500}},
		{api.From{Limit: 2000}, 2000, "2000", []int{1000, 1000}},
		{api.From{Limit: 9000}, 2500, "", []int{1000, 1000, 1000}},
		{api.From{After: "2500"}, 0, "", []int{1000}},
	} {
		asked = nil
		var got []int
		next, err := api.Pages(s.from, api.PageSize, get, func(page []int) error {
			got = append(got, page...)
			return nil
		})
		if err != nil || len(got) != s.count || next != s.next || !slices.Equal(asked, s.asked) || !slices.IsSorted(got) {
			t.Errorf("%+v: %d, next %q, asked for %d, %v", s.from, len(got), next, asked, err)
		}
	}
	asked = nil
	if next, err := api.Pages(api.From{Limit: 2200}, 2000, get, func([]int) error { return nil }); err != nil || next != "2200" || !slices.Equal(asked, []int{2000, 200}) {
		t.Errorf("next %q, asked for %d, %v", next, asked, err)
	}
	enough := errors.New("enough")
	if _, err := api.Pages(api.From{}, api.PageSize, get, func([]int) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
}
