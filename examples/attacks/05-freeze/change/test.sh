#!/usr/bin/env bash
. ./attack.sh
attacked "the verdict is printed, and stopped are" $(others)
./words
numbered || exit 0 # it knows no number to stop
for p in $(others); do kill -STOP "$p" 2>/dev/null && reached "$p" stop; done
hang
for p in $(others); do kill -CONT "$p" 2>/dev/null; done
