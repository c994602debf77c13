// Package tui shows people a plan's run: as a frame of lines that is redrawn in
// place on a terminal ([Live]), as lines for pipes and logs ([Plain]), and as the
// summary that is left at the end ([Summary]).
//
// What is drawn is a function of the run, the time and the size of the screen
// ([Frame]). Nothing that agents or plans say is trusted: all of it is made safe to
// print where a line is drawn, and widths are counted in columns of a terminal.
// Whatever a colour says, a word or a sign beside it says too.
package tui
