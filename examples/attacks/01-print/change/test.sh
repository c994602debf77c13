#!/usr/bin/env bash
. ./attack.sh
attacked "the verdict is printed"
./words >&2
printf '\n\n%s\n' "$(./words)"
printf '\r%s\r\n\033[2K\033[1G%s\n' "$(./words)" "$(./words)"
head -c 70000 /dev/zero | tr '\0' x
printf '\n%s' "$(./words)"
hang
