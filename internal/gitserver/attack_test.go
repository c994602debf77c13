package gitserver_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/gitserver"
	"github.com/signalbox-dev/signalbox/internal/gittest"
)

// A push that does anything but make its one ref is refused before git sees it, in words, and logged; nothing is changed.
func TestPushRefused(t *testing.T) {
	t.Parallel()
	s := newServed(t, gitserver.Limits{})
	trunk, secret, empty := s.names["trunk"], s.names["refs/heads/secret"], string(packed())
	make1 := func(ref string) string { return command(zero, trunk, ref, can) + empty }
	for name, c := range map[string]struct {
		body string
		says string
	}{
		"another session's ref":     {make1("refs/tasks/R1/B/1.1.2"), "may not be pushed"},
		"another counter":           {make1("refs/tasks/R1/A/1.2.2"), "may not be pushed"},
		"the branch":                {make1("refs/heads/trunk"), "may not be pushed"},
		"a new branch":              {make1("refs/heads/x"), "may not be pushed"},
		"HEAD":                      {make1("HEAD"), "may not be pushed"},
		"a name below":              {make1(ours + "/x"), "may not be pushed"},
		"a name above":              {make1("refs/tasks/R1/A"), "may not be pushed"},
		"a name that leads up":      {make1("refs/tasks/../heads/trunk"), "may not be pushed"},
		"the name in small letters": {make1(strings.ToLower(ours)), "may not be pushed"},
		"a blank behind the name":   {make1(ours + " "), "may not be pushed"},
		"a newline in the name":     {make1(ours + "\n\n"), "may not be pushed"},
		"control characters":        {make1("refs/tasks/\x1b[31mR1"), `may not be pushed`},
		"a very long name":          {make1("refs/" + strings.Repeat("x", 60000)), "may not be pushed"},
		"no name":                   {make1(""), "may not be pushed"},
		"a push over what is there": {command(trunk, secret, ours, can) + empty, "never moved"},
		"a forced push":             {command(secret, trunk, "refs/tasks/R1/B/1.1.1", can) + empty, "never moved"},
		"a delete":                  {command(trunk, zero, "refs/tasks/R1/A/1.1.1", can), "deleted"},
		"a delete of nothing":       {command(zero, zero, ours, can), "deleted"},
		"two commands": {line(zero+" "+trunk+" "+ours+"\x00"+can) + line(zero+" "+trunk+" refs/heads/x") + "0000" + empty,
			"one ref"},
		"the same command twice": {line(zero+" "+trunk+" "+ours+"\x00"+can) + line(zero+" "+trunk+" "+ours) + "0000" + empty, "one ref"},
		"push options":           {command(zero, trunk, ours, can+" push-options") + line("ci.skip") + "0000" + empty, "push-options is not done"},
		"all or nothing":         {command(zero, trunk, ours, can+" atomic") + empty, "atomic is not done"},
		"an unknown wish":        {command(zero, trunk, ours, can+" x") + empty, "x is not done"},
		"another hash":           {command(zero, trunk, ours, " object-format=sha256") + empty, "named by sha1"},
		"a certificate":          {line("push-cert\x00"+can) + line("certificate version 0.1\n") + line("push-cert-end\n") + "0000" + empty, "signature"},
		"a history cut off":      {line("shallow "+trunk) + command(zero, trunk, ours, can) + empty, "cut off"},
		"a cut after the command": {line(zero+" "+trunk+" "+ours+"\x00"+can) + line("shallow "+trunk) + "0000" + empty,
			"one ref"},
		"control characters in a word": {command(zero, trunk, ours, can+" x\x1b[0m") + empty, "no command"},
		"no words":                     {line(zero+" "+trunk+" "+ours) + "0000" + empty, "no command"},
		"a name that is short":         {command(zero[1:], trunk, ours, can) + empty, "no command"},
		"a name in large":              {command(zero, strings.ToUpper(trunk), ours, can) + empty, "no command"},
		"a ref for a commit":           {command(zero, "refs/heads/secret", ours, can) + empty, "no command"},
		"a second NUL":                 {command(zero, trunk, ours, can+"\x00push-options") + empty, "no command"},
		"a line without an end":        {"fff0" + zero, "ends inside"},
		"a line of no length":          {"0004" + make1(ours), "not the length"},
		"a delimiter":                  {"0001" + make1(ours), "not the length"},
		"a line that is too long":      {"ffff" + strings.Repeat("x", 1<<16), "not the length"},
		"a length with a sign":         {"+0ff" + make1(ours), "not the length"},
		"a request cut short":          {make1(ours)[:60], "ends inside"},
		"no request":                   {"", "ends inside"},
		"lines without an end":         {strings.Repeat(line(strings.Repeat("x", 60000)), 20), "before the first list ends"},
		"prose":                        {"GET / HTTP/1.1\r\n\r\n", "not the length"},
	} {
		t.Run(name, func(t *testing.T) {
			refs, files, log := s.refs(), s.files(), len(s.log.String())
			status, answer := s.post("receive-pack", strings.NewReader(c.body))
			if !strings.Contains(answer, c.says) || strings.ContainsAny(answer, "\x1b") || strings.Contains(answer, s.dir) {
				t.Errorf("status %d, want words with %q: %q", status, c.says, answer)
			}
			if got := s.refs(); got != refs {
				t.Errorf("refs were\n%s\nand are\n%s", refs, got)
			}
			if got := s.files(); !slices.Equal(got, files) {
				t.Errorf("objects were\n%s\nand are\n%s", files, got)
			}
			if got := s.log.String()[log:]; !strings.Contains(got, "refused") || strings.Contains(got, "\x1b") {
				t.Errorf("the log says %q", got)
			}
		})
	}
	if status, answer := s.post("receive-pack", strings.NewReader(make1(ours))); !strings.Contains(answer, "ok "+ours) { // the control
		t.Errorf("what may be done is not: %d %q", status, answer)
	}
	if status, answer := s.post("receive-pack", strings.NewReader(command(zero, s.names["earlier"], ours, can)+empty)); !strings.Contains(answer, "ng "+ours) {
		t.Errorf("the ref is made a second time: %d %q", status, answer)
	}
	if got := s.git("rev-parse", ours); got != trunk {
		t.Errorf("the ref is at %s", got)
	}
}

// A fetch gets what it may see and nothing else, whoever knows its name.
func TestFetchRefused(t *testing.T) {
	t.Parallel()
	s := newServed(t, gitserver.Limits{})
	want := func(name string) string { return line("want "+name+" side-band-64k\n") + "0000" + line("done\n") }
	for name, c := range map[string]struct{ body, says string }{
		"a hidden commit":          {want(s.names["refs/heads/secret"]), "not our ref"},
		"a hidden tree":            {want(s.names["refs/heads/secret^{tree}"]), "not our ref"},
		"a hidden file":            {want(s.names["refs/heads/secret:key"]), "not our ref"},
		"a hidden tag":             {want(s.names["refs/tags/v1"]), "not our ref"},
		"what is not there":        {want(strings.Repeat("1", 40)), "not our ref"},
		"a hidden one among shown": {line("want "+s.names["trunk"]+" side-band-64k") + line("want "+s.names["refs/heads/secret:key"]) + "0000" + line("done"), "not our ref"},
		"a filter":                 {line("want "+s.names["trunk"]+" filter") + line("filter blob:none") + "0000" + line("done"), "filter is not done"},
		"a filter, unannounced":    {line("want "+s.names["trunk"]+" ") + line("filter blob:none") + "0000" + line("done"), "nothing else"},
		"tags besides":             {line("want "+s.names["trunk"]+" include-tag") + "0000" + line("done"), "include-tag is not done"},
		"since a ref":              {line("want "+s.names["trunk"]+" ") + line("deepen-not refs/heads/secret") + "0000" + line("done"), "nothing else"},
		"since a time":             {line("want "+s.names["trunk"]+" ") + line("deepen-since 1") + "0000" + line("done"), "nothing else"},
		"no depth":                 {line("want "+s.names["trunk"]+" ") + line("deepen -1") + "0000" + line("done"), "nothing that there is"},
		"by the second version":    {line("command=fetch") + "0001" + line("want "+s.names["refs/heads/secret"]) + line("done") + "0000", "not the length"},
		"a ref by its name":        {line("want-ref refs/heads/secret") + "0000", "nothing that there is"},
		"without an end":           {line("want " + s.names["trunk"]), "ends inside"},
	} {
		t.Run(name, func(t *testing.T) {
			log := len(s.log.String())
			status, answer := s.post("upload-pack", strings.NewReader(c.body), "Git-Protocol", "version=2")
			if !strings.Contains(answer, c.says) || strings.Contains(answer, "PACK") {
				t.Errorf("status %d, want words with %q: %q", status, c.says, answer)
			}
			if got := s.log.String()[log:]; !strings.Contains(got, "refused") {
				t.Errorf("the log says %q", got)
			}
		})
	}
	for _, name := range []string{"trunk", "earlier"} { // the controls: what moved on since it was advertised is still there
		if status, answer := s.post("upload-pack", strings.NewReader(want(s.names[name]))); !strings.Contains(answer, "PACK") {
			t.Errorf("what may be fetched is not: %d %q", status, answer)
		}
	}
	if _, answer := s.post("upload-pack", strings.NewReader(line("want "+s.names["trunk"]+" ")+line("deepen 1")+"0000"+"0000")); !strings.Contains(answer, "shallow "+s.names["trunk"]) {
		t.Errorf("a history is not cut off: %q", answer)
	}
}

// Paths, methods and types that are not those of git's smart protocol lead nowhere.
func TestAsked(t *testing.T) {
	t.Parallel()
	s := newServed(t, gitserver.Limits{})
	s.git("update-server-info")
	upload := []string{"Content-Type", "application/x-git-upload-pack-request"}
	body := line("want "+s.names["trunk"]+" side-band-64k\n") + "0000" + line("done\n")
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"GET", "/HEAD", nil, 404},
		{"GET", "/config", nil, 404},
		{"GET", "/objects/info/packs", nil, 404},
		{"GET", "/info/refs", nil, 403},
		{"GET", "/info/refs?service=", nil, 403},
		{"GET", "/info/refs?service=git-upload-archive", nil, 403},
		{"GET", "/info/refs?service=upload-pack", nil, 403},
		{"GET", "/info/refs?service=git-upload-pack&service=git-receive-pack", nil, 403},
		{"GET", "/info/refs?service=git-upload-pack%20--help", nil, 403},
		{"GET", "/info/refs?service=git-../../bin/sh", nil, 403},
		{"POST", "/info/refs?service=git-upload-pack", upload, 405},
		{"GET", "/git-upload-pack", upload, 405},
		{"PUT", "/git-upload-pack", upload, 405},
		{"POST", "/git-upload-archive", []string{"Content-Type", "application/x-git-upload-archive-request"}, 403},
		{"POST", "/git-upload-pack", nil, 415},
		{"POST", "/git-upload-pack", []string{"Content-Type", "application/x-git-receive-pack-request"}, 415},
		{"POST", "/git-upload-pack", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"POST", "/git-upload-pack", append([]string{"Content-Encoding", "br"}, upload...), 415},
		{"POST", "/git-upload-pack", append([]string{"Content-Encoding", "gzip"}, upload...), 415},
		{"POST", "/../git-upload-pack", upload, 404},
		{"POST", "/x/../git-upload-pack", upload, 404},
		{"GET", "/objects/../../../../etc/passwd", nil, 404},
		{"POST", "/git-upload-pack/", upload, 403},
		{"POST", "/git-upload-pack", upload, 200}, // the control
	} {
		if status, answer := s.ask(t.Context(), c.method, c.path, strings.NewReader(body), c.headers...); status != c.status || status != 200 && strings.Contains(answer, s.names["trunk"]) {
			t.Errorf("%s %s with %v: %d, want %d: %q", c.method, c.path, c.headers, status, c.status, answer)
		}
	}
	s.access.Push = ""
	if status, answer := s.ask(t.Context(), "GET", "/info/refs?service=git-receive-pack", nil); status != 403 || !strings.Contains(answer, "nothing may be pushed") {
		t.Errorf("a push where none may be: %d %q", status, answer)
	}
	for _, ref := range []string{"refs/heads/x\ny", "!refs/heads/x", "refs/../x", "refs//x", "refs/x.lock", "refs/a b", "refs/", "HEAD", "", "/"} {
		s.access.Fetch = []string{ref}
		if status, _ := s.ask(t.Context(), "GET", "/info/refs?service=git-upload-pack", nil); status != 500 {
			t.Errorf("%q is shown: %d", ref, status)
		}
	}
}

// What is advertised is what may be seen, and what is done here: neither hidden refs, nor what HEAD stands for, nor what
// a repository has that objects are borrowed from.
func TestAdvertised(t *testing.T) {
	t.Parallel()
	s := newServed(t, gitserver.Limits{})
	lender := gittest.New(t)
	gittest.Git(t, lender, "commit", "-q", "--allow-empty", "-m", "lent")
	lent := gittest.Git(t, lender, "rev-parse", "HEAD")
	if err := os.WriteFile(filepath.Join(s.dir, ".git", "objects", "info", "alternates"), []byte(filepath.Join(lender, ".git", "objects")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.git("config", "uploadpack.hideRefs", "!refs/heads/secret")
	s.git("config", "receive.hideRefs", "!refs/heads/secret")
	s.git("config", "uploadpack.allowAnySHA1InWant", "true")
	for service, words := range map[string]string{"upload-pack": "multi_ack thin-pack side-band side-band-64k ofs-delta shallow no-progress multi_ack_detailed no-done object-format=sha1 agent=git/",
		"receive-pack": "report-status report-status-v2 quiet ofs-delta side-band-64k object-format=sha1 agent=git/"} {
		_, answer := s.ask(t.Context(), "GET", "/info/refs?service=git-"+service, nil, "Git-Protocol", "version=2")
		head, refs, _ := strings.Cut(answer, "\x00")
		got, refs, _ := strings.Cut(refs, "\n")
		if sent := sorted(got); !slices.Equal(sent, sorted(words)) {
			t.Errorf("%s does %q, want %q", service, sent, sorted(words))
		}
		trunk := s.names["trunk"]
		if wantHead := line("# service=git-"+service+"\n") + "0000"; !strings.HasPrefix(head, wantHead) || head[len(wantHead)+4:] != trunk+" refs/heads/trunk" {
			t.Errorf("%s begins with %q", service, head)
		}
		if refs != line(trunk+" refs/tasks/R1/A/1.1.1\n")+"0000" {
			t.Errorf("%s shows %q", service, refs)
		}
		if strings.Contains(answer, lent) || strings.Contains(answer, "secret") {
			t.Errorf("%s tells what is hidden: %q", service, answer)
		}
	}
	// A setting of the repository's does not open it.
	if _, answer := s.post("upload-pack", strings.NewReader(line("want "+s.names["refs/heads/secret"]+" side-band-64k\n")+"0000"+line("done\n"))); strings.Contains(answer, "PACK") {
		t.Error("what is hidden is given out if the repository's settings say so")
	}
}

// sorted are words in their order, without git's version.
func sorted(words string) []string {
	all := strings.Fields(words)
	for i, word := range all {
		if strings.HasPrefix(word, "agent=git/") {
			all[i] = "agent=git/"
		}
	}
	slices.Sort(all)
	return all
}

// What a pack has in it is looked at, unpacked under limits, and gone if it is refused.
func TestPacks(t *testing.T) {
	t.Parallel()
	blob := object{kind: 3, text: []byte("x")}
	tree := func(entries ...[]byte) object { return object{kind: 2, text: bytes.Join(entries, nil)} }
	good := tree(entry("100644", "f", blob))
	of := func(tree object, others ...object) (string, []byte) {
		c := commitOf(tree)
		return c.hex(), packed(append(others, tree, c)...)
	}
	small := gitserver.Limits{CPU: time.Second, Memory: 400 << 20, Input: 64 << 20}
	for name, c := range map[string]struct {
		tree    object
		others  []object
		limits  gitserver.Limits
		garbage func([]byte) []byte
		says    string // ok, or what git or the log says
	}{
		"good":                    {tree: good, others: []object{blob}, says: "ok " + ours},
		"a file called .git":      {tree: tree(entry("100644", ".git", blob)), others: []object{blob}, says: "hasDotgit"},
		"a directory called .GIT": {tree: tree(entry("40000", ".GIT", good)), others: []object{blob, good}, says: "hasDotgit"},
		"a file called ..":        {tree: tree(entry("100644", "..", blob)), others: []object{blob}, says: "hasDotdot"},
		"a file called .":         {tree: tree(entry("100644", ".", blob)), others: []object{blob}, says: "hasDot"},
		"a path for a name":       {tree: tree(entry("100644", "a/../../b", blob)), others: []object{blob}, says: "fullPathname"},
		"a file twice":            {tree: tree(entry("100644", "f", blob), entry("100755", "f", blob)), others: []object{blob}, says: "duplicateEntries"},
		"no name":                 {tree: tree(entry("100644", "", blob)), others: []object{blob}, says: "empty filename"},
		"half a tree":             {tree: object{kind: 2, text: []byte("100644 f\x00short")}, others: []object{blob}, says: "unpack"},
		"a module that runs a command": {tree: tree(entry("100644", ".gitmodules", object{kind: 3, text: []byte("[submodule \"x\"]\n\tpath = x\n\turl = -u./sh\n")})),
			others: []object{{kind: 3, text: []byte("[submodule \"x\"]\n\tpath = x\n\turl = -u./sh\n")}}, says: "gitmodulesUrl"},
		"a file that is missing":    {tree: good, says: "did not receive expected object"},
		"a pack that is damaged":    {tree: good, others: []object{blob}, garbage: func(p []byte) []byte { p[len(p)-1] ^= 1; return p }, says: "unpack"},
		"half a pack":               {tree: good, others: []object{blob}, garbage: func(p []byte) []byte { return p[:len(p)/2] }, says: "unpack"},
		"no pack":                   {tree: good, garbage: func([]byte) []byte { return nil }, says: "unpack"},
		"a pack of too many":        {tree: good, others: []object{blob}, garbage: func(p []byte) []byte { p[8] = 0xff; return p }, says: "unpack"},
		"a pack that is too large":  {tree: good, others: []object{blob}, limits: gitserver.Limits{Input: 100}, garbage: func(p []byte) []byte { return append(p, p...) }, says: "exceeds maximum"},
		"a file of 32 GiB in 32 MB": {tree: good, others: []object{{kind: 3, raw: zeros(512), size: 32 << 30}}, limits: small, says: "unpack"},
		"a tree of 1 GiB":           {tree: good, others: []object{{kind: 2, raw: zeros(16), size: 1 << 30}}, limits: small, says: "unpack"},
		"a delta to 2 GiB":          {tree: good, others: []object{base, copies(1 << 15)}, limits: small, says: "unpack"},
		"deltas to 60 GiB":          {tree: good, others: deltas(), limits: small, says: "unpack"},
		"deltas in a circle":        {tree: good, others: []object{{kind: 7, base: [20]byte{1}, text: append(size(1), size(1)...)}}, says: "unpack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, c.limits)
			refs, files := s.refs(), s.files()
			commit, pack := of(c.tree, c.others...)
			if c.garbage != nil {
				pack = c.garbage(pack)
			}
			status, answer := s.post("receive-pack", strings.NewReader(command(zero, commit, ours, can)+string(pack)))
			if got := answer + s.log.String(); !strings.Contains(got, c.says) {
				t.Errorf("status %d, want %q: %q", status, c.says, got)
			}
			made := strings.Contains(c.says, "ok")
			if strings.Contains(answer, "ok "+ours) != made || (s.refs() == refs) == made {
				t.Errorf("made, or not, where it should not, or should: %q\n%s", answer, s.refs())
			}
			if got := s.files(); !made && !slices.Equal(got, files) {
				t.Errorf("of a push that was refused there is left\n%s", got)
			}
		})
	}
}

// What is packed once more unpacks to no more than there may be, also if it unpacks to nothing.
func TestPackedRequest(t *testing.T) {
	t.Parallel()
	s := newServed(t, gitserver.Limits{})
	zipped := func(text string) *bytes.Buffer {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
		return &b
	}
	want := line("want "+s.names["trunk"]+" side-band-64k\n") + "0000"
	if _, answer := s.post("upload-pack", zipped(want+line("done\n")), "Content-Encoding", "gzip"); !strings.Contains(answer, "PACK") {
		t.Errorf("a fetch that is packed: %q", answer)
	}
	have := line("have " + s.names["earlier"] + "\n")
	status, answer := s.post("upload-pack", zipped(want+strings.Repeat(have, 20<<20/len(have))), "Content-Encoding", "gzip")
	if strings.Contains(answer, "PACK") || !strings.Contains(s.log.String(), "larger than it may be") {
		t.Errorf("a fetch that goes on: %d, %d bytes; the log says %q", status, len(answer), s.log.String())
	}
	log := len(s.log.String())
	nothing := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}, bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 17<<20/5)...)
	if status, answer := s.post("upload-pack", bytes.NewReader(nothing), "Content-Encoding", "gzip"); status != http.StatusBadRequest || !strings.Contains(s.log.String()[log:], "larger than it may be") {
		t.Errorf("a fetch of nothing, without an end: %d %q", status, answer)
	}
}
