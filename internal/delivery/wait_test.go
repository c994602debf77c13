package delivery_test

import (
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Whatever a task waits for has its words, and what is no waiting has none.
func TestWaitWords(t *testing.T) {
	silent := []delivery.Wait{"", delivery.WaitCompleted, delivery.WaitCancelled, delivery.WaitSession}
	task := &delivery.Task{Conflict: &delivery.FileConflict{}}
	for _, w := range append(delivery.Waits(), "") {
		if words := w.Words(&delivery.Run{}, task); (words == "") != slices.Contains(silent, w) {
			t.Errorf("the words of %q are %q", w, words)
		}
	}
}
