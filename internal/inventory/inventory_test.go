package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// NOTICE names every module that is linked, under an allowed licence, with its texts.
func TestNotice(t *testing.T) {
	modules, err := linked(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	want := notice(modules)
	got, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	if want != string(got) {
		t.Errorf("NOTICE is not true any more (go run ./internal/inventory notice > NOTICE): its list should differ so (-want +got):\n%s",
			cmp.Diff(noticed(want), noticed(string(got))))
	}
	if n := len(noticed(want)); n != len(modules) || n < 20 {
		t.Errorf("%d modules are linked, and %d are read back", len(modules), n)
	}
}

const (
	mit = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal\nin the Software without restriction, including without limitation the rights\n" +
		"to use, copy, modify, merge, publish, distribute, sublicense, and/or sell\n// copies of the Software"
	fee = "Permission to use, copy, modify, and/or distribute this software for\nany purpose with or without fee is hereby granted"
	bsd = "Redistributions in binary form must reproduce the above\n * copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution."
)

func TestLicences(t *testing.T) {
	for _, c := range []struct{ text, want, fails string }{
		{mit, "MIT", ""},
		{fee + ", provided that the above copyright notice and this permission notice appear in all copies.", "ISC", ""},
		{fee + ".\n\nTHE SOFTWARE IS PROVIDED “AS IS”", "0BSD", ""},
		{bsd, "BSD-2-Clause", ""},
		{bsd + " The name may be used to endorse or promote products derived from this software without specific prior written permission.", "BSD-3-Clause", ""},
		{mit + "\n\nApache License\n  Version 2.0, January 2004", "Apache-2.0 MIT", ""},
		{"Mozilla Public License Version 2.0 … the GNU General Public License, Version 2.0", "MPL-2.0", ""},
		{"GNU GENERAL PUBLIC LICENSE", "", "gnu general public license"},
		{mit + " or the GNU Affero General Public License", "", "gnu affero"},
		{mit + " “Commons Clause” License Condition", "", "commons clause"},
		{mit + " with the Commons Clause", "", "commons clause"},
		{"Mozilla Public License Version 2.0, and the Commons Clause", "", "commons clause"},
		{"all rights reserved", "", "none of those that are allowed"},
		{"", "", "none of those that are allowed"},
	} {
		got, err := licencesOf(c.text)
		if strings.Join(got, " ") != c.want || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%q: %q, %v; want %q, %q", c.text, got, err, c.want, c.fails)
		}
	}
}

// A module without a licence, or with one more that is not allowed, is refused.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"LICENSE": mit, "NOTICE": "GNU General Public License is only named here"}, ""},
		{map[string]string{"LICENSE": mit + "\x1b[2J"}, "characters that no text has"},
		{map[string]string{"LICENSE": mit, "NOTICE": "\u202e"}, "characters that no text has"},
		{map[string]string{"README": mit}, "has no licence"},
		{map[string]string{"NOTICE": mit}, "has no licence"},
		{map[string]string{"COPYING": mit, "LICENSE-OTHER": "mine"}, "LICENSE-OTHER: its licence is none"},
		{map[string]string{"LICENSE-LOGO": "of a picture"}, "LICENSE-LOGO"},
	} {
		dir := t.TempDir()
		for name, content := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		m := module{path: "example.org/m"}
		if err := m.read(dir); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.files, err, c.want)
		}
	}
}

// A bill has the program, Go's library and every module; one without a licence is refused.
func TestBill(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Path: "example.org/tool/cmd/tool", Main: debug.Module{Version: "v1.0.0+dirty"},
		Deps: []*debug.Module{{Path: "example.org/m", Version: "v1.2.3", Sum: "h1:x"}}, Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-tags", Value: "x"}}}
	b, err := billOf(info, "abc", map[string]string{"std": "BSD-3-Clause", "example.org/m v1.2.3": "MIT"})
	if err != nil {
		t.Fatal(err)
	}
	want := bill{Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{component{"application", "pkg:golang/example.org/tool/cmd/tool@v1.0.0%2Bdirty", "tool", "v1.0.0+dirty", []hash{{"SHA-256", "abc"}},
			[]licensed{{"Apache-2.0"}}, "pkg:golang/example.org/tool/cmd/tool@v1.0.0%2Bdirty", []property{{"go:GOOS", "linux"}}}},
		Components: []component{
			{"library", "pkg:golang/std@1.26.0", "std", "1.26.0", nil, []licensed{{"BSD-3-Clause"}}, "pkg:golang/std@1.26.0", nil},
			{"library", "pkg:golang/example.org/m@v1.2.3", "example.org/m", "v1.2.3", nil, []licensed{{"MIT"}}, "pkg:golang/example.org/m@v1.2.3", []property{{"go:sum", "h1:x"}}},
		}}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := billOf(info, "abc", map[string]string{"std": "BSD-3-Clause", "example.org/m v1.2.2": "MIT"}); err == nil || !strings.Contains(err.Error(), "example.org/m v1.2.3 is not in NOTICE") {
		t.Errorf("a module without a licence: %v", err)
	}
}
