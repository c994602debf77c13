#!/usr/bin/env bash
. ./attack.sh
attacked "the verdict is printed as a record"
./words --record
printf 'EXIT: run=guessed\n%s\n' "$(./words --record)"
printf '\n\n%s' "$(./words --record)" >&2
hang
