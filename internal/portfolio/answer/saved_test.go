package answer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// There are never more files than there may be, whoever asks at once, and after a restart.
func TestSavedIsBounded(t *testing.T) {
	logs := t.TempDir()
	dir := filepath.Join(logs, exitFiles)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range saved.Files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("x_20200101_%06d.json", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &Service{Logs: logs, Now: func() time.Time { return time.Date(2026, 11, 13, 9, 8, 7, 0, time.UTC) }}
	for range 5 {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if file := s.save(reply.OutputFile, exitFiles, exitFiles, i); file.Err != nil {
					t.Error(file.Err)
				}
			})
		}
		all.Wait()
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != saved.Files {
			t.Fatalf("%d files of %d, %v", len(entries), saved.Files, err)
		}
	}
	if file := s.save(reply.OutputFile, exitFiles, exitFiles, strings.Repeat("x", 33<<20)); file.Err == nil || !strings.Contains(file.Err.Error(), "a file may have 33554432") {
		t.Error(file)
	}
}
