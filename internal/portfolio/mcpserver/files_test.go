package mcpserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestOtherFiles tries to read what the server did not write, by names near to what it did.
func TestOtherFiles(t *testing.T) {
	f := &fake{dir: t.TempDir()}
	secret := filepath.Join(f.dir, "secret")
	if err := os.WriteFile(secret, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	session := connectPipes(t, f)
	body, result := call(t, session, "check_exit_signals", arguments{"ticker": "VTI", "output": "file"})
	path, uri := body["file_path"].(string), result.Content[1].(*mcp.ResourceLink).URI
	directory := uri[:strings.LastIndex(uri, "/")]
	refused := func(uri, why string) {
		t.Helper()
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %+v, %v", uri, read, err)
		}
	}
	const unknown = "not those of an earlier run; call the tool again with output=file"
	for _, other := range []string{
		"", "/", "file:", "file://", "file:///", directory, directory + "/", directory + "/secret",
		uri + "/../secret", directory + "/x/../" + filepath.Base(uri), uri + "%00", uri + "?", uri + "#", strings.ToUpper(uri),
		"file://localhost" + strings.TrimPrefix(uri, "file://"), strings.TrimPrefix(uri, "file://"), path,
		"file:///etc/passwd", "file:///proc/self/environ", "http://127.0.0.1/", "\x00\"\n\u202e",
	} {
		refused(other, unknown)
	}
	// Another server, as after a restart, knows nothing of the link.
	again := connectPipes(t, f)
	if _, err := again.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("after a restart: %v", err)
	}

	const replaced = "the file was removed or replaced since it was written"
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused(uri, replaced)
	if err := os.Symlink(secret, path); err == nil { // not everyone may, on Windows
		refused(uri, replaced)
	}
}
