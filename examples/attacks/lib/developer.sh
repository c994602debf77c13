# What hostile developers share; each of them reads this file first. It runs in the worktree of
# the task, in the developer's session; ATTACK is the attack's directory.
set -u

# bring puts the attack's change, and a back door, into the worktree.
bring() {
  if [ -d "$ATTACK/change" ]; then cp -R "$ATTACK/change/." .; fi
  cp "$ATTACK/attack.sh" "$ATTACK/words" "$ATTACK/token" .
  back_door >evil.txt
}

back_door() { printf '%s%s\n' BACK DOOR; }

record() { git add -A && git commit -qm "${1:-work}"; }

# seal computes the checksum at the end of an index anew.
seal() { # INDEX
  head -c -20 "$1" >"$1.new" && head -c -20 "$1" | sha1sum | cut -d ' ' -f 1 | bytes >>"$1.new" && mv "$1.new" "$1"
}

# bytes turns hexadecimal digits into the bytes that they stand for.
bytes() {
  local hex
  read -r hex
  printf "$(printf '%s' "$hex" | sed 's/../\\x&/g')"
}

# overwrite puts other contents, from standard input, under the name of an object.
overwrite() { # NAME
  local other objects
  other=$(git hash-object -w --stdin)
  objects=$(git rev-parse --git-path objects)
  cp "$objects/${other:0:2}/${other:2}" "$objects/${1:0:2}/new"
  mv -f "$objects/${1:0:2}/new" "$objects/${1:0:2}/${1:2}"
}
