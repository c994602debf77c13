// Package picture places what is drawn of a run: the plan as a graph, a timeline, and bars. It is pure: the same values give the same
// places. The templates in [Templates] make SVG of them, without script and without style of its own: how it looks is in [Style].
package picture
