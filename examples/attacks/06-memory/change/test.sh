#!/usr/bin/env bash
. ./attack.sh
attacked "reached into are" $(others)
for p in $(others); do
  for way in $(python3 reach.py "$(numbered && echo numbered)" "$(./words)" "$p"); do reached "$p" "reach by $way into"; done
done
hang
