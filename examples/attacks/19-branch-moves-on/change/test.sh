#!/usr/bin/env bash
. ./attack.sh
attacked "the branch is moved in the review"
{ read -r git && read -r ref && read -r tree && read -r common; } <place
(cd "$tree" && . ./later) 2>/dev/null
. ./later
{ git rev-parse HEAD >"$common/$ref" || git -C "$tree" update-ref "$ref" HEAD; } 2>/dev/null
sleep 2
