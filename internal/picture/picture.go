package picture

import "embed"

// Templates define graph-svg of a [Graph], timeline-svg of a [Timeline] and bars-svg of [Bars]. They call a function safe, which makes
// text of what others have said.
//
//go:embed picture.html
var Templates embed.FS

// Style says how pictures look, in light and in dark.
//
//go:embed picture.css
var Style []byte
