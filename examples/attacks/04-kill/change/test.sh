#!/usr/bin/env bash
. ./attack.sh
attacked "the verdict is printed, and killed are" $(others)
./words
numbered || exit 0 # it knows no number to kill
for p in $(others); do
  kill -0 "$p" && reached "$p" kill
  kill -9 -- "-$(sed 's/.*) //' "/proc/$p/stat" | cut -d ' ' -f 3)"
  kill -9 "$p"
done 2>/dev/null
hang
