package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/safetext"
)

// settingsMeant returns the digest of the settings that a plan is to be delivered by; empty if the box does not say which ones it
// goes by, as one of an earlier version.
func (a *app) settingsMeant(ctx context.Context, client *api.Client, c config.Config) (string, error) {
	s, err := client.Status(ctx)
	if err != nil || s.Settings == nil {
		return "", err
	}
	return a.digestNow(c, *s.Settings)
}

// digestNow returns the digest of settings as they are now: of those that the user named; or, if the user named none, of the file
// that the box was started with.
func (a *app) digestNow(c config.Config, of api.Settings) (string, error) {
	if beside, err := filepath.Abs(filepath.Join(a.home, config.File)); err != nil || c.Path != beside || of.File == beside {
		return c.Digest()
	}
	load := config.Load
	if filepath.Base(of.File) == config.File { // which need not be there
		load = func(path string) (config.Config, error) { return config.LoadIn(filepath.Dir(path)) }
	}
	c, err := load(of.File)
	if err != nil {
		return "", err
	}
	return c.Digest()
}

// changedSettings says that the box goes by other settings than its file has now; empty if it does not.
func (a *app) changedSettings(of *api.Settings) string {
	if of == nil {
		return ""
	}
	c, err := a.settings("")
	digest := ""
	if err == nil {
		digest, err = a.digestNow(c, *of)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("the box goes by the settings that it was started with (%s), and they can't be read any more: %v", stamp(of.Since), err)
	case digest != of.Digest:
		return fmt.Sprintf("%s was changed since the box started (%s): it goes by the old settings until it is restarted; its agents go on",
			safetext.Escape(filepath.Base(of.File)), stamp(of.Since))
	}
	return ""
}
