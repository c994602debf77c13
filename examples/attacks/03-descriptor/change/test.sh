#!/usr/bin/env bash
. ./attack.sh
attacked "the verdict is written to the descriptors of" $(others)
for p in $(others); do
  for fd in 1 2; do ./words >"/proc/$p/fd/$fd" && reached "$p" "write to descriptor $fd of"; done 2>/dev/null
done
if numbered; then for p in $(others); do kill -9 "$p" 2>/dev/null; done; fi
hang
