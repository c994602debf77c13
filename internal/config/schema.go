package config

import _ "embed" // the schema

//go:embed signalbox.schema.json
var schemaText string

// Schema is the JSON schema of signalbox.yaml. docs/signalbox.schema.json is the same.
func Schema() string { return schemaText }
