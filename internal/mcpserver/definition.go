package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is what clients are told of a tool, and how its calls are read. All that they are told goes into the
// context of every agent that is connected, so it is short.
type Tool struct {
	Name, Title, Description string
	Input                    Schema
	Output                   *Schema // nil: clients are not told
	Hints                    Hints
	Waits                    bool // its calls wait for something to happen: they take no place from those that work
	Hidden                   bool // it is left out of lists; who calls it all the same is answered
	// Read makes a call of its arguments. It reads all of them, also if one is wrong.
	Read func(*Arguments) Call
}

// Hints tell clients what a tool may do. They are the protocol's own.
type Hints struct {
	ReadOnly               bool
	Destructive, OpenWorld *bool
}

// Call is a tool with its arguments.
type Call struct {
	// Run answers the call. An error is answered by Fail.
	Run func(ctx context.Context) (Result, error)
	// Fail is the answer that says what went wrong, in the format that was asked for.
	Fail func(error) Result
}

// Result is what a tool answers, on success and on failure.
type Result struct {
	Body     any    // one JSON object with a status
	Failed   bool   // the body says why
	FilePath string // of the file with the rest, if there is one: it is linked
}

// Schema is the JSON schema of an object.
type Schema struct {
	Type                 string              `json:"type"`
	Properties           map[string]Property `json:"properties"`
	Required             []string            `json:"required,omitempty"`
	AdditionalProperties *bool               `json:"additionalProperties,omitempty"`
}

// Property is one member of a [Schema].
type Property struct {
	Type             string   `json:"type"`
	Description      string   `json:"description,omitempty"`
	Format           string   `json:"format,omitempty"`
	Enum             []string `json:"enum,omitempty"`
	Default          string   `json:"default,omitempty"`
	Minimum          *int     `json:"minimum,omitempty"`
	Maximum          *int     `json:"maximum,omitempty"`
	ExclusiveMinimum *int     `json:"exclusiveMinimum,omitempty"`
}

// definition is the tool as clients see it.
func definition(t Tool) *mcp.Tool {
	defined := &mcp.Tool{
		Name:        t.Name,
		Title:       t.Title,
		Description: t.Description,
		InputSchema: t.Input,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.Hints.ReadOnly, DestructiveHint: t.Hints.Destructive, OpenWorldHint: t.Hints.OpenWorld},
	}
	if t.Output != nil {
		defined.OutputSchema = *t.Output
	}
	return defined
}

// Resource is what clients can read besides the files that calls wrote.
type Resource struct {
	URI                         string // with {names} in it, it is a template (RFC 6570)
	Name, Description, MIMEType string
	// Read returns the text at a URI that fits. Its error is what the client is told.
	Read func(ctx context.Context, uri string) (string, error)
}

// Prompt is a text that a person can have their agent begin with.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	// Text makes it of the arguments that were given.
	Text func(given map[string]string) (string, error)
}

// PromptArgument is an argument of a [Prompt].
type PromptArgument struct {
	Name, Description string
	Required          bool
}
