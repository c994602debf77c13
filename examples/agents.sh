# What the demonstrations with real agents share; each of them reads this file first.
#
#   demo          a scripted model server plays the model: no key is needed, nothing is spent
#   demo --real   your own login or key is used, and what the model does is up to it
#
# They need git, Go, the agent's program, and the signalbox program (SIGNALBOX names it if
# it is not in PATH). The repository that they make is removed if the plan is delivered.
set -eu
signalbox=${SIGNALBOX:-signalbox}
examples=$(cd "$here/.." && pwd)
real=
case ${1:-} in
"") ;;
--real) real=yes ;;
*)
  echo "usage: $0 [--real]" >&2
  exit 2
  ;;
esac

need() { # PROGRAM HOW-TO-GET-IT
  command -v "$1" >/dev/null || {
    echo "$1 is not installed, or not in PATH: $2" >&2
    exit 1
  }
}
need git "install git"
need go "install Go"
need "$signalbox" "go build -o signalbox ./cmd/signalbox, and put it in PATH"

mkdir -p "$HOME/.signalbox-demo" # Codex does not work below /tmp
dir=$(mktemp -d "$HOME/.signalbox-demo/XXXXXX")
server=
delivered=
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
  if [ -n "$delivered" ] || [ ! -d "$dir/greetings/.signalbox" ]; then
    rm -rf "$dir"
    rmdir "$HOME/.signalbox-demo" 2>/dev/null || true
  else
    printf '\nThe repository stays, for you to look at: %s\n' "$dir/greetings"
  fi
}
trap finish EXIT
trap 'exit 130' INT TERM

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
  echo "A script plays the model, at $url: what is called cost here is none."
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
  step git --no-pager log --oneline --graph HEAD..signalbox/R1
  step "$signalbox" ledger verify
  delivered=yes
}
