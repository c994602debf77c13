//go:build unix

package webtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is for how long a condition is waited for.
const patience = 2 * time.Minute

// browser is a Chromium with one tab.
type browser struct {
	t       *testing.T
	to      *os.File
	session string // of the tab

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
	events  []event
	gone    error // why nothing more is heard
}

// answer is what a browser says to a request.
type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// event is what a browser says by itself.
type event struct {
	Method string
	Params json.RawMessage
}

// openBrowser starts a Chromium, which ends with the test, with flags besides its own. If there is none, the test is skipped.
func openBrowser(t *testing.T, flags ...string) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium in PATH: the page is not looked at in a browser")
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "signalbox-browser-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, slices.Concat([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
		"--remote-debugging-pipe", "--user-data-dir=" + profile,
	}, flags, []string{"about:blank"})...)
	cmd.Env = append(os.Environ(), "TMPDIR="+profile) // it leaves there what it does not remove
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}    // its descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		kill()
		t.Skipf("%s does not start: %v", program, err)
	}
	_ = theirIn.Close() // the browser has its own
	_ = theirOut.Close()
	b := &browser{t: t, to: ourOut, waiting: map[int]chan answer{}}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		b.hear(bufio.NewReader(ourIn))
	}()
	t.Cleanup(func() {
		_ = ourOut.Close() // it ends by that, and its processes with it
		late := time.AfterFunc(patience, kill)
		_ = cmd.Wait() // that it was killed is no failure
		late.Stop()
		kill()
		_ = ourIn.Close()
		<-heard
		_ = os.RemoveAll(profile)
	})
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.ask("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.ask("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.ask(domain+".enable", nil, nil)
	}
	return b
}

// hear takes what the browser says, until it says nothing more.
func (b *browser) hear(from *bufio.Reader) {
	for {
		text, err := from.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.gone = err
			for _, w := range b.waiting {
				close(w)
			}
			b.waiting = nil
			return
		}
		var m struct {
			ID int
			answer
			event
		}
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue // nothing that it says is not JSON
		}
		b.mu.Lock()
		if m.ID == 0 {
			b.events = append(b.events, m.event)
		} else if w := b.waiting[m.ID]; w != nil {
			delete(b.waiting, m.ID)
			w <- m.answer
		}
		b.mu.Unlock()
	}
}

// ask has the browser do something, and reads what it says to that. A failure ends the test.
func (b *browser) ask(method string, params, result any) {
	b.t.Helper()
	if err := b.try(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *browser) try(method string, params, result any) error {
	w := make(chan answer, 1)
	b.mu.Lock()
	if b.gone != nil {
		b.mu.Unlock()
		return fmt.Errorf("the browser has gone: %w", b.gone)
	}
	b.last++
	id := b.last
	b.waiting[id] = w
	b.mu.Unlock()
	request := map[string]any{"id": id, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return err
	}
	select {
	case a, ok := <-w:
		switch {
		case !ok:
			return fmt.Errorf("the browser has gone")
		case a.Error != nil:
			return fmt.Errorf("%s", a.Error.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-time.After(patience):
		return fmt.Errorf("the browser has not answered within %v", patience)
	}
}

// eval returns what an expression of JavaScript is on the page, as JSON has it.
func (b *browser) eval(expression string) (value any, err error) {
	var r struct {
		Result    struct{ Value any }
		Exception *struct{ Text string } `json:"exceptionDetails"`
	}
	if err := b.try("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r); err != nil {
		return nil, err
	}
	if r.Exception != nil {
		return nil, fmt.Errorf("%s", r.Exception.Text)
	}
	return r.Result.Value, nil
}

// until waits until an expression is true. A page that is being loaded has none.
func (b *browser) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	var last any
	var err error
	for time.Now().Before(deadline) {
		if last, err = b.eval(expression); err == nil && last == true {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond): // between two looks
		case <-b.t.Context().Done():
		}
	}
	text, _ := b.eval("document.body ? document.body.innerText : ''")
	b.t.Fatalf("%s is %v, %v, after %v; the page says:\n%v", expression, last, err, patience, text)
}

// must returns what an expression is.
func (b *browser) must(expression string) any {
	b.t.Helper()
	v, err := b.eval(expression)
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// visit loads a page, as somebody who types its address.
func (b *browser) visit(address string) {
	b.t.Helper()
	b.ask("Page.navigate", map[string]any{"url": address}, nil)
	b.until("document.readyState === 'complete' && location.href !== 'about:blank'")
}

// typed types text where the focus is.
func (b *browser) typed(text string) {
	b.t.Helper()
	b.ask("Input.insertText", map[string]any{"text": text}, nil)
}

// press presses a key: Tab, Enter or a space.
func (b *browser) press(key string) {
	b.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13, " ": 32}[key]
	down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
	if key != "Tab" {
		down["text"] = strings.ReplaceAll(strings.ReplaceAll(key, "Enter", "\r"), "Tab", "\t")
	}
	b.ask("Input.dispatchKeyEvent", down, nil)
	b.ask("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
}

// heard returns what the browser has said by itself, of some methods.
func (b *browser) heard(methods ...string) (all []event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		for _, m := range methods {
			if e.Method == m {
				all = append(all, e)
			}
		}
	}
	return all
}
