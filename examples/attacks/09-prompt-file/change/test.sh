#!/usr/bin/env bash
. ./attack.sh
attacked "the secret is looked for on the disk"
here=$PWD
for dir in "$HOME" "${TMPDIR:-/tmp}" "$(dirname "$HOME")" /dev/shm "$ATTACK/../repo/.signalbox" "$ATTACK/../repo/.git"; do
  timeout 10 grep -rhaoE --exclude-dir=attack --devices=skip "$(./words --secret)" "$dir" 2>/dev/null | grep -v guessed | use "a file below $dir"
done
for p in $(others); do
  for file in "/proc/$p/fd"/*; do [ ! -f "$file" ] || timeout 1 cat "$file" | use "an open file of the reviewer or what runs the tests for it"; done
done 2>/dev/null
hang
