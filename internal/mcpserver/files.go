package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	maxFiles = 1000     // that can be read at a time; older ones are forgotten
	maxFile  = 32 << 20 // bytes of a file that is read through the server
)

// files are what calls have written, by URI. A URI is looked up as it is, and never taken for a
// path, so there is no way from one file to another.
type files struct {
	server *mcp.Server
	own    string // how the URIs of what the server has besides begin; empty if it has nothing
	again  string // what to do for a file that can't be read

	mu   sync.Mutex
	uris []string // the oldest first
}

// link makes a file readable through the server.
func (f *files) link(path string) (*mcp.ResourceLink, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("the file with the result can't be linked: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the file with the result can't be linked: %s is no regular file", safetext.Escape(path))
	}
	size, name, uri := info.Size(), filepath.Base(path), fileURI(path)

	f.mu.Lock()
	defer f.mu.Unlock()
	f.server.AddResource(&mcp.Resource{URI: uri, Name: name, MIMEType: jsonType, Size: size}, f.reader(path, info))
	f.uris = append(slices.DeleteFunc(f.uris, func(known string) bool { return known == uri }), uri)
	if len(f.uris) > maxFiles {
		f.server.RemoveResources(f.uris[0])
		f.uris = slices.Delete(f.uris, 0, 1)
	}
	return &mcp.ResourceLink{URI: uri, Name: name, MIMEType: jsonType, Size: &size}, nil
}

const jsonType = "application/json"

// fileURI is an absolute path as a URI; one with a drive letter begins with a slash there too.
func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

// reader reads a file as long as it is the one that was written, not what took its place.
func (f *files) reader(path string, written fs.FileInfo) mcp.ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		info, err := os.Lstat(path)
		if err != nil || !same(info, written) {
			return nil, unreadable(uri, "the file was removed or replaced since it was written; "+f.again)
		}
		file, err := os.Open(path)
		if err != nil {
			return nil, unreadable(uri, "the file can't be opened; "+f.again)
		}
		defer func() { _ = file.Close() }()
		data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
		if err != nil {
			return nil, unreadable(uri, "the file can't be read; "+f.again)
		}
		if len(data) > maxFile {
			return nil, unreadable(uri, fmt.Sprintf("the file is larger than %d MB; open it where it is", maxFile>>20))
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: jsonType, Text: string(data)}}}, nil
	}
}

// same tells whether both are one file, unchanged. Its identity alone does not say so: a new file
// can get that of one that was removed.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Mode() == b.Mode() && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// refuseUnknown says more than "not found" of a file that this server did not write.
func (f *files) refuseUnknown(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if read, ok := req.(*mcp.ReadResourceRequest); ok && !f.knows(read.Params.URI) {
			return nil, unreadable(read.Params.URI, "only files that this server wrote since it was started can be read, "+
				"not those of an earlier run; "+f.again)
		}
		return next(ctx, method, req)
	}
}

// knows tells whether a URI is that of a file that was linked, or begins as those of the server's own.
func (f *files) knows(uri string) bool {
	if f.own != "" && strings.HasPrefix(uri, f.own) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.uris, uri)
}

func unreadable(uri, why string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: why, Data: data}
}
