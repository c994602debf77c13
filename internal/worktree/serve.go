package worktree

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Service is one of the two programs that another machine's git speaks to.
type Service string

// The services: what is fetched from a repository, and what is pushed to it.
const (
	UploadPack  Service = "upload-pack"
	ReceivePack Service = "receive-pack"
)

// Serving is what is served, to whom: one exchange with another machine's git, in version 0 of git's protocol. Version 2
// would give out each object to whoever names it. What git is told by the other side is for the caller to look at before:
// [Repo.Serve] is safe from what is in a pack, not from commands.
type Serving struct {
	Service Service
	Refs    []string // that are seen; with a slash at the end, all below. Git is told of them as settings: see gitserver.RefName
	Input   int64    // bytes that a pack may have
	Most    Most     // what each process of git's may use, if something is pushed
}

// apartFromUser is an environment that keeps git from what the user has told it for all repositories, such as programs to run,
// logins for other servers and proxies, and gives it settings (NAME=VALUE), which count more than those of the repository. They
// stand in no argument: nobody else can read them.
func apartFromUser(settings ...string) []string {
	env := []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_PROTOCOL=", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, one := range settings {
		name, value, _ := strings.Cut(one, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return env
}

// Advertise writes which refs there are, as a fetch or a push begins.
func (r *Repo) Advertise(ctx context.Context, s Serving, out io.Writer) error {
	return r.serve(ctx, s, call{out: out}, "--advertise-refs")
}

// Serve answers one request. Who asked is told of most that goes wrong by what is written.
func (r *Repo) Serve(ctx context.Context, s Serving, in io.Reader, out io.Writer) error {
	c := call{input: in, out: out}
	if s.Service == ReceivePack {
		c.most = &s.Most
	}
	return r.serve(ctx, s, c)
}

func (r *Repo) serve(ctx context.Context, s Serving, c call, options ...string) error {
	c.args = slices.Concat([]string{string(s.Service), "--stateless-rpc"}, options, []string{r.common})
	c.env, c.patience = apartFromUser(s.settings()...), fetchPatience
	return r.run(ctx, place{dir: r.common, gitDir: r.common}, c)
}

// servedSettings hold whatever is asked for. Of a repository that leaves contents to another one, git would ask that one for each
// name that a stranger says, with the user's login.
var servedSettings = []string{"safe.directory=*", "protocol.allow=never"}

// settings are git's for the service. They are given with each command, so that nothing in the repository has to be right;
// of two that hide a ref or show it, git takes the latter.
func (s Serving) settings() []string {
	all := append(slices.Clone(servedSettings), "transfer.hideRefs=HEAD", "transfer.hideRefs=refs")
	for _, ref := range s.Refs {
		all = append(all, "transfer.hideRefs=!"+strings.TrimSuffix(ref, "/"))
	}
	if s.Service == UploadPack {
		return append(all,
			"uploadpack.allowTipSHA1InWant=false", "uploadpack.allowReachableSHA1InWant=false", "uploadpack.allowAnySHA1InWant=false",
			"uploadpack.allowFilter=false", "uploadpack.allowRefInWant=false",
			"pack.threads=1", "pack.windowMemory=256m")
	}
	return append(all,
		"receive.fsckObjects=true", "receive.denyDeletes=true", "receive.denyNonFastForwards=true",
		"receive.unpackLimit=1", "transfer.unpackLimit=1", // a pack is looked through as it comes, and not held
		fmt.Sprintf("receive.maxInputSize=%d", s.Input),
		"receive.autogc=false", "receive.updateServerInfo=false", "receive.advertisePushOptions=false", "receive.advertiseAtomic=false",
		"receive.shallowUpdate=false", "core.alternateRefsCommand=true", // what alternates have is not told: this prints nothing
		"core.logAllRefUpdates=false",
		"core.bigFileThreshold=16m", "core.packedGitWindowSize=16m", "core.packedGitLimit=256m", "core.deltaBaseCacheLimit=64m", "pack.threads=1")
}

// AreCommits reports whether all these names of objects, in full, are those of commits that are here.
func (r *Repo) AreCommits(ctx context.Context, names []string) (bool, error) {
	if len(names) == 0 {
		return true, nil
	}
	out := limited{most: len(names) * 100}
	err := r.run(ctx, r.home, call{
		env:  apartFromUser(servedSettings...),
		args: []string{"cat-file", "--batch-check=%(objecttype)"}, stdin: strings.Join(names, "\n") + "\n", out: &out,
	})
	return err == nil && string(out.text) == strings.Repeat("commit\n", len(names)), err
}

// Format returns by which hash the repository names its objects, as git calls it.
func (r *Repo) Format(ctx context.Context) (string, error) {
	return r.read(ctx, r.home, "rev-parse", "--show-object-format")
}
