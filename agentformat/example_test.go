package agentformat_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
)

// A disk is one row of the full result of a tool that looks for full disks.
type disk struct {
	Name string
	Used float64 // of 1; NaN if it could not be read
}

// diskSnapshot is what an agent decides from.
type diskSnapshot struct {
	Verdict   string   `json:"verdict"`
	DiskCount int      `json:"disk_count"`
	Fullest   float64  `json:"fullest_pct"`
	FullDisks []string `json:"full_disks"` // all of them, until Capped
}

// newDiskSnapshot makes the snapshot of a result, whole lists and all.
func newDiskSnapshot(disks []disk) diskSnapshot {
	s := diskSnapshot{DiskCount: len(disks), FullDisks: []string{}}
	for _, d := range disks {
		pct := agentformat.Round(d.Used*100, 1)
		s.Fullest = max(s.Fullest, pct)
		if pct >= 90 {
			s.FullDisks = append(s.FullDisks, d.Name)
		}
	}
	s.Verdict = fmt.Sprintf("%d of %d disks are full", len(s.FullDisks), s.DiskCount)
	return s
}

func (s diskSnapshot) Flags() []agentformat.Flag {
	if len(s.FullDisks) == 0 {
		return []agentformat.Flag{{Name: "all_fine", Severity: agentformat.Success, Message: "No disk is full"}}
	}
	return []agentformat.Flag{{
		Name:     "disks_full",
		Severity: agentformat.Warning,
		Message:  "Full: " + strings.Join(s.FullDisks, ", "),
	}}
}

func (s diskSnapshot) Capped() diskSnapshot {
	s.FullDisks = s.FullDisks[:min(len(s.FullDisks), 2)]
	return s
}

// A whole tool: its result becomes a snapshot, the snapshot says its flags, and both are the
// response. The third full disk is not shown, but the flag knows it.
func Example() {
	result := []disk{{"root", 0.912}, {"home", 0.4}, {"backup", 0.99}, {"mail", 0.95}}
	response := agentformat.Respond(agentformat.StatusSuccess, newDiskSnapshot(result), agentformat.File{})
	text, err := json.MarshalIndent(response, "", "  ")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", text)
	// Output:
	// {
	//   "status": "success",
	//   "format": "agent",
	//   "snapshot": {
	//     "verdict": "3 of 4 disks are full",
	//     "disk_count": 4,
	//     "fullest_pct": 99,
	//     "full_disks": [
	//       "root",
	//       "backup"
	//     ]
	//   },
	//   "flags": [
	//     {
	//       "flag": "disks_full",
	//       "severity": "warning",
	//       "message": "Full: root, backup, mail"
	//     }
	//   ],
	//   "file_path": null
	// }
}

// The full result goes to a file, and its path into the reply.
func ExampleSave() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	result := []disk{{"root", 0.912}}
	file := agentformat.Save(dir, "disks", time.Date(2025, 3, 7, 9, 5, 3, 0, time.UTC), result)
	response := agentformat.Respond(agentformat.StatusSuccess, newDiskSnapshot(result), file)
	fmt.Println(filepath.Base(*response.FilePath))
	// Output: disks_20250307_090503.json
}

// A directory keeps as many results as it may: the oldest go first.
func ExampleLimits_Save() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	limits := agentformat.Limits{Files: 2}
	for hour := 9; hour <= 11; hour++ {
		if file := limits.Save(dir, "disks", time.Date(2025, 3, 7, hour, 0, 0, 0, time.UTC), []disk{{"root", 0.912}}); file.Err != nil {
			fmt.Println(file.Err)
			return
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, path := range kept {
		fmt.Println(filepath.Base(path))
	}
	fmt.Println(err)
	// Output:
	// disks_20250307_100000.json
	// disks_20250307_110000.json
	// <nil>
}
