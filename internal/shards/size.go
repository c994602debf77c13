package main

import (
	"flag"
	"math"
	"strconv"
	"time"
)

// What docs/scale.md has measured, and what the code allows.
const (
	eventBytes  = 1134    // that an event takes in the archive, both copies
	itemEvents  = 7. / 3. // for each handoff: an item is added and handed over three times, two events each
	waitKB      = 34      // of memory for a claim that waits
	sessionMB   = 4.3     // of memory for a session
	programMB   = 251     // and for its agent's program: the mean of four
	waitsOfABox = 10_000  // claims may wait at a box
)

const (
	day   = 24 * time.Hour
	month = 730 * time.Hour
)

// sizeTable is arithmetic: what so many agents would take. Its second column is the formula.
func sizeTable(flags *flag.FlagSet) func() ([][]string, error) {
	service := serviceFlag(flags, serviceAlone)
	agents := flags.Float64("agents", 100_000, "that signal")
	every := flags.Duration("every", 5*time.Minute, "each of them")
	used := flags.Float64("used", 0.5, "of a core's time, no more: queue says what more would cost")
	cores := flags.Float64("cores", 2, "of a box")
	bytes := flags.Float64("bytes", eventBytes, "that an event takes on the disk")
	disk := flags.Float64("disk", 2, "TB of disk that a box has")
	core := flags.Float64("core-hour", 0.05, "price of a core for an hour: put in yours")
	gb := flags.Float64("gb-month", 0.1, "price of a GB of disk for a month: put in yours")
	return func() ([][]string, error) {
		if err := positive("all are more than 0, -used at most 1",
			*service > 0 && *agents > 0 && *every > 0 && *used > 0 && *used <= 1 && *cores > 0 && *bytes > 0 && *disk > 0 && *core >= 0 && *gb >= 0); err != nil {
			return nil, err
		}
		signals := *agents / every.Seconds()
		needed := signals * service.Seconds() / *used
		daily := signals * itemEvents * *bytes * day.Seconds()
		year := daily * 365 / 1e9 // GB
		byCores, byWaits := math.Ceil(needed / *cores), math.Ceil(*agents/waitsOfABox)
		boxes := max(byCores, byWaits)
		coreHours, gbMonths := boxes**cores*month.Hours()*12, year*12/2
		return [][]string{
			{"what", "formula", "figure"},
			{"signals/s", "agents / every", decimal(signals)},
			{"cores", "signals/s x service / used", decimal(needed)},
			{"boxes, by processor", "cores / cores of a box", number(byCores)},
			{"boxes, by claims that wait", "agents / " + number(waitsOfABox), number(byWaits)},
			{"boxes", "the larger", number(boxes)},
			{"memory for claims that wait", "agents x " + decimal(waitKB) + " KB", decimal(*agents*waitKB/1e6) + " GB"},
			{"memory of agents, on your machines", "agents x (" + decimal(sessionMB) + " + " + decimal(programMB) + ") MB", decimal(*agents*(sessionMB+programMB)/1e6) + " TB"},
			{"events a day", "signals/s x 7/3 x 86,400", number(signals * itemEvents * day.Seconds())},
			{"disk a day", "events x bytes", decimal(daily/1e9) + " GB"},
			{"a box's disk is full after", "disk x boxes / disk a day", decimal(*disk*1e12*boxes/daily) + " days"},
			{"disk after a year", "365 x disk a day", decimal(year/1000) + " TB"},
			{"syncs/s of a box, at most", "7/3 x signals/s / boxes", decimal(itemEvents * signals / boxes)},
			{"example: price of cores for a year", "boxes x cores of a box x 8,760 h x core-hour", number(coreHours * *core)},
			{"example: price of disk in the first year", "disk after a year / 2 x 12 x gb-month", number(gbMonths * *gb)},
		}, nil
	}
}

// decimal is a number to three digits.
func decimal(f float64) string {
	if f >= 100 {
		return number(f)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}
