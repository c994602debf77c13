package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"runtime/debug"
	"strings"
)

// A bill is what a program is made of, as CycloneDX 1.6 has it. It has neither a serial number nor a date, which the format
// does not ask for, so that the same program has the same bill.
type bill struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []licensed `json:"licenses"`
	Package    string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licensed struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeBill writes a program's bill into a file. NOTICE, in this directory or above it, has the licences.
func writeBill(program, file string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	notice, err := findNotice()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	b, err := billOf(info, hex.EncodeToString(sum[:]), noticed(notice))
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	out, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(out, '\n'), 0o644)
}

// findNotice reads NOTICE: a release's tools run below the module's root.
func findNotice() (string, error) {
	data, err := os.ReadFile("NOTICE")
	if os.IsNotExist(err) {
		data, err = os.ReadFile("../NOTICE")
	}
	return string(data), err
}

// billOf makes the bill of a program from what the Go toolchain recorded in it. A module whose licence is not known
// is an error.
func billOf(info *debug.BuildInfo, sum string, licences map[string]string) (bill, error) {
	b := bill{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	b.Metadata.Component = component{Type: "application", Name: path.Base(info.Path), Version: info.Main.Version,
		Licenses: []licensed{{"Apache-2.0"}}, Hashes: []hash{{"SHA-256", sum}}}
	b.Metadata.Component.identify(info.Path)
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "vcs.revision":
			b.Metadata.Component.Properties = append(b.Metadata.Component.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	deps := append([]*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
	for _, d := range deps {
		if d.Replace != nil {
			d = d.Replace
		}
		licence := cmp.Or(licences[d.Path+" "+d.Version], licences[d.Path]) // std has no version there
		if licence == "" {
			return bill{}, fmt.Errorf("%s %s is not in NOTICE: go run ./internal/inventory notice > NOTICE", d.Path, d.Version)
		}
		c := component{Type: "library", Name: d.Path, Version: d.Version, Licenses: []licensed{{licence}}}
		if d.Sum != "" {
			c.Properties = []property{{"go:sum", d.Sum}}
		}
		c.identify(d.Path)
		b.Components = append(b.Components, c)
	}
	for _, e := range embedded {
		if licence := licences[e.registry+":"+e.name+" "+e.version]; e.program == path.Base(info.Path) {
			ref := "pkg:" + e.registry + "/" + e.name + "@" + e.version
			b.Components = append(b.Components, component{Type: "library", Ref: ref, Name: e.name, Version: e.version, Licenses: []licensed{{licence}}, Package: ref})
		}
	}
	return b, nil
}

// identify gives a component its package URL.
func (c *component) identify(path string) {
	c.Package = "pkg:golang/" + path + "@" + strings.ReplaceAll(c.Version, "+", "%2B")
	c.Ref = c.Package
}
