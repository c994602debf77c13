#!/bin/sh
# Installs signalbox and portfolio from a release: downloads the archive for this system and the release's
# checksums, and installs the programs if the archive is the one that the checksums name.
#
#   sh install.sh [--version VERSION] [--prefix DIRECTORY] [--url URL]
#
#   --version VERSION    which release, such as v0.1.0 (default: the latest)
#   --prefix DIRECTORY   programs go to DIRECTORY/bin, manual pages and completions to DIRECTORY/share
#                        (default: $HOME/.local)
#   --url URL            the directory that has the release's files, instead of GitHub's; $SIGNALBOX_RELEASE_URL is the same
#
# It writes below the prefix only, never asks for more rights than it has, and leaves nothing behind when it fails.
# Checksums tell a damaged download from a whole one; who made the release is told by its signature: docs/install.md.

set -eu

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

# fetch URL FILE
fetch() {
	case $1 in
	https://* | http://127.0.0.1:* | http://localhost:* | 'http://[::1]:'*) ;;
	*) fail "$1: only https is used, and http on this machine" ;;
	esac
	if command -v curl >/dev/null 2>&1; then
		curl -fsSL --proto-redir =https --retry 2 -o "$2" "$1" || fail "$1 could not be downloaded"
	elif command -v wget >/dev/null 2>&1; then
		wget -q -O "$2" "$1" || fail "$1 could not be downloaded"
	else
		fail "curl or wget is needed to download $1"
	fi
}

# digest FILE
digest() {
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum <"$1" | cut -d ' ' -f 1
	elif command -v shasum >/dev/null 2>&1; then
		shasum -a 256 <"$1" | cut -d ' ' -f 1
	else
		fail "sha256sum or shasum is needed to check what was downloaded"
	fi
}

# stage FILE DIRECTORY NAME MODE: puts a copy beside its place, where finish finds it
stage() {
	dir=$2
	while [ ! -d "$dir" ]; do
		echo "$dir" >>"$work/made"
		dir=$(dirname "$dir")
	done
	mkdir -p "$2"
	echo "$2/$3" >>"$work/staged"
	cp "$1" "$2/$3.new.$$"
	chmod "$4" "$2/$3.new.$$"
}

# finish has all that is staged take its place. A program that runs goes on.
finish() {
	while read -r file; do
		mv -f "$file.new.$$" "$file"
	done <"$work/staged"
	: >"$work/made"
}

# clean removes what is staged and has not taken its place, and directories that were made for it.
clean() {
	while read -r file; do
		rm -f "$file.new.$$"
	done <"$work/staged"
	sort -r "$work/made" | while read -r dir; do # what is in a directory comes before it
		rmdir "$dir" 2>/dev/null || true
	done
	rm -rf "$work"
}

main() {
	version=latest
	prefix=${HOME:+$HOME/.local}
	url=${SIGNALBOX_RELEASE_URL:-}
	while [ $# -gt 0 ]; do
		case $1 in
		--version | --prefix | --url) [ $# -gt 1 ] || fail "$1 needs a value" ;;
		-h | --help)
			echo "usage: sh install.sh [--version VERSION] [--prefix DIRECTORY] [--url URL]"
			exit 0
			;;
		*) fail "$1 is not known; see sh install.sh --help" ;;
		esac
		case $1 in
		--version) version=$2 ;;
		--prefix) prefix=$2 ;;
		*) url=$2 ;;
		esac
		shift 2
	done
	[ -n "$prefix" ] || fail "HOME is not set: say where to install with --prefix"
	if [ -z "$url" ]; then
		case $version in
		latest) url=https://github.com/signalbox-dev/signalbox/releases/latest/download ;;
		*) url=https://github.com/signalbox-dev/signalbox/releases/download/$version ;;
		esac
	fi

	system=$(uname -s)
	case $system in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	*) fail "there is no archive for $system that this script installs: see docs/install.md" ;;
	esac
	machine=$(uname -m)
	case $machine in
	x86_64 | amd64) machine=amd64 ;;
	aarch64 | arm64) machine=arm64 ;;
	*) fail "there is no archive for $machine; build from source: see docs/install.md" ;;
	esac

	work=$(mktemp -d)
	: >"$work/staged"
	: >"$work/made"
	trap clean EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP

	# A line of the checksums is a digest, two spaces and a name. One line has to name the archive for this system.
	fetch "$url/checksums.txt" "$work/checksums.txt"
	lines=$(grep -cE "^[0-9a-f]{64}  signalbox_[0-9A-Za-z.+~-]+_${system}_$machine\.tar\.gz\$" "$work/checksums.txt") || true
	[ "$lines" = 1 ] || fail "checksums.txt of $url names $lines archives for $system/$machine, and one is needed: nothing was installed"
	line=$(grep -E "^[0-9a-f]{64}  signalbox_[0-9A-Za-z.+~-]+_${system}_$machine\.tar\.gz\$" "$work/checksums.txt")
	want=${line%% *}
	archive=${line##* }
	fetch "$url/$archive" "$work/$archive"
	got=$(digest "$work/$archive")
	[ "$got" = "$want" ] || fail "$archive has the SHA-256 $got, and checksums.txt says $want: nothing was installed"

	mkdir "$work/files"
	tar -xzf "$work/$archive" -C "$work/files" || fail "$archive can't be unpacked: nothing was installed"
	for program in signalbox portfolio; do
		[ -f "$work/files/$program" ] || fail "$archive has no $program: nothing was installed"
		chmod 755 "$work/files/$program"
	done
	said=$("$work/files/signalbox" version) || fail "signalbox of $archive does not run on this machine: nothing was installed"

	for page in "$work"/files/man/*.1; do
		stage "$page" "$prefix/share/man/man1" "${page##*/}" 644
	done
	for name in signalbox portfolio; do
		stage "$work/files/completions/$name.bash" "$prefix/share/bash-completion/completions" "$name" 644
		stage "$work/files/completions/_$name" "$prefix/share/zsh/site-functions" "_$name" 644
		stage "$work/files/completions/$name.fish" "$prefix/share/fish/vendor_completions.d" "$name.fish" 644
		stage "$work/files/$name" "$prefix/bin" "$name" 755
	done
	finish

	echo "$said" | head -n 1
	echo "installed signalbox and portfolio in $prefix/bin, manual pages and completions in $prefix/share"
	echo "$archive has the SHA-256 that checksums.txt of $url has for it"
	case :$PATH: in
	*":$prefix/bin:"*) ;;
	*) echo "$prefix/bin is not in your PATH; add it: export PATH=\"$prefix/bin:\$PATH\"" ;;
	esac
}

# The last line starts it all, and only as a whole, so a download that was cut off does nothing.
{ main "$@"; }
