#!/usr/bin/env bash
. ./attack.sh
attacked "the secret is looked for in the environment of" $(others)
{ env && env | sed -n 's/^[A-Z_]*\(RUN\|NONCE\|SECRET\)=\(.*\)/run=\2/p'; } | use "the tests' own environment"
for p in $(others); do
  tr '\0' '\n' <"/proc/$p/environ" | sed 's/^[A-Z_]*\(RUN\|NONCE\|SECRET\)=/run=/' | use "the environment of the reviewer or what runs the tests for it"
  tr '\0' '\n' <"/proc/$p/cmdline" | use "the command line of the reviewer or what runs the tests for it"
done 2>/dev/null
hang
