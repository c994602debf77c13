# What the demonstrations with real agents share; each of them reads this file first.
#
#   demo          a scripted model server plays the model: no key is needed, nothing is spent
#   demo --real   your own login or key is used, and what the model does is up to it
#
# They need git, Go, the agent's program, and the signalbox program (SIGNALBOX names it if
# it is not in PATH).
set -eu
signalbox=${SIGNALBOX:-signalbox}
examples=$(cd "$here/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}
mkdir -p "$cache"
dir=$(mktemp -d "$cache/signalbox-demo.XXXXXX")
server=
trap 'if [ -n "$server" ]; then kill "$server"; wait "$server" || true; fi; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

need() { # PROGRAM PACKAGE
  command -v "$1" >/dev/null || {
    echo "$1 is not installed: npm install -g $2" >&2
    exit 1
  }
}

# scripted starts the model server and sets url to its address, and home to an empty
# home directory, so that nothing of yours is used or changed.
scripted() {
  home=$dir/home
  mkdir -p "$home"
  (cd "$examples/.." && go build -o "$dir/modelserver" ./examples/modelserver)
  "$dir/modelserver" "$examples/modelserver/greetings.txt" >"$dir/url" &
  server=$!
  until [ -s "$dir/url" ]; do sleep 0.1; done
  url=$(cat "$dir/url")
  echo "A script plays the model, at $url; see --real."
}

step() { printf '\n$ %s\n' "$*"; "$@"; }

# deliver delivers the quickstart's plan in a new repository.
deliver() {
  mkdir "$dir/greetings"
  cp "$examples/quickstart/plan.md" "$examples/quickstart/test" "$here/signalbox.yaml" "$dir/greetings"
  cd "$dir/greetings"
  git init -q
  git config user.name You
  git config user.email you@example.org
  git add -A
  git commit -qm "start"
  step "$signalbox" doctor
  step "$signalbox" run plan.md
  step git log --oneline --graph HEAD..signalbox/R1
  step "$signalbox" status
  step "$signalbox" ledger verify
}
