package cli

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
)

// A link is drawn for a camera on a terminal with colours that is wide enough, and nowhere else; each line has its ground.
func TestCode(t *testing.T) {
	link := "https://box.example.org:7443/page/login?link=ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, c := range []struct {
		env  command.Env
		link string
		want int // lines
	}{
		{command.Env{OutTTY: true, Color: true}, link, 23},
		{command.Env{OutTTY: true}, link, 0},
		{command.Env{Color: true}, link, 0},
		{command.Env{OutTTY: true, Color: true}, link + strings.Repeat("x", 300), 0},
	} {
		got := (&app{Program: command.Program{Env: c.env}}).codeOf(c.link)
		if strings.Count(got, "\n") != c.want || strings.Count(got, "\x1b[30;107m") != c.want || strings.Count(got, "\x1b[0m\n") != c.want {
			t.Errorf("%+v: %d lines\n%s", c.env, strings.Count(got, "\n"), got)
		}
	}
}
