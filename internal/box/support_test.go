package box_test

import (
	"io/fs"
	"os"

	"github.com/signalbox-dev/signalbox/internal/box"
)

func osDir(path string) fs.FS { return os.DirFS(path) }

var _ box.Dir
