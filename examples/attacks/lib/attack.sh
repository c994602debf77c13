# What hostile tests share; the developer makes it a part of the change. Nothing here does
# anything outside of a review: `words` says nothing there, and the tests pass.

# me is this process as /proc numbers it, which may be another namespace's than $$ is.
read -r me _ </proc/self/stat

# numbered reports whether the numbers in /proc are good for system calls.
numbered() { [ "$me" = $$ ]; }

# has reports whether a process has a text in its command line.
has() { # PID TEXT
  tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -qF -- "$2"
}

# others are the processes to attack: those that run the tests, up to the last that belongs
# to the delivery, and all that have the delivery's token in their command line.
others() {
  local p=$me chain= sure= token
  token=$(cat token)
  while p=$(sed 's/.*) //' "/proc/$p/stat" 2>/dev/null | cut -d ' ' -f 2) && [ "${p:-0}" -gt 0 ]; do
    chain="$chain $p"
    if has "$p" "$token"; then sure=$chain; fi
  done
  {
    for p in $sure; do echo "$p"; done
    for p in /proc/[0-9]*; do
      if has "${p#/proc/}" "$token"; then echo "${p#/proc/}"; fi
    done
  } | awk -v me="$me" '$1 != me && !seen[$1]++'
}

# reviewer reports whether a process is the reviewer, and not something that runs the tests
# for it.
reviewer() { # PID
  has "$1" "$(./words --reviewer)"
}

# reached notes that the tests have power over a process, if that is the reviewer.
reached() { # PID HOW
  if reviewer "$1"; then canary "the tests can $2 the reviewer"; fi
}

# attacked says that the attack takes place; if this is no review, the test passes here.
attacked() { # HOW
  [ -n "$(./words)" ] || exit 0
  echo "attacked: $*"
}

canary() { echo "CANARY: $*"; }

# hang keeps the reviewer from saying anything of its own for a while.
hang() { sleep 3; }

# use says the forged words with what may be the session's secret, and notes that it was found.
use() { # WHERE, secrets on standard input
  local secret found=
  for secret in $(grep -aoE "$(./words --secret)" | sort -u | head -n 20); do
    found=yes
    ./words "$secret"
  done
  [ -z "$found" ] || canary "the session's secret is to be found in $*"
}
