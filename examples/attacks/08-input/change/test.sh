#!/usr/bin/env bash
. ./attack.sh
attacked "the secret is looked for in the input of" $(others)
timeout 1 cat | use "the input that the tests inherit"
for p in $(others); do timeout 1 cat "/proc/$p/fd/0" | use "the input of the reviewer or what runs the tests for it"; done 2>/dev/null
hang
