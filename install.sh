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
umask go-w      # nobody else can put a program in place of another
export LC_ALL=C # a to z are those letters

newline='
'

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

# fetch URL FILE SIZE: the size is what the file may have, in blocks of 512 bytes
fetch() {
	if printf '%s\n' "$1" | grep -qvE '^(https://|http://(127\.0\.0\.1|localhost|\[::1\]):[0-9]+/)'; then
		fail "$1: only https is used, and http on this machine"
	fi
	case $1 in http://*) unset http_proxy all_proxy ALL_PROXY ;; esac # a proxy would look for it on another machine
	if command -v curl >/dev/null 2>&1; then
		(ulimit -f "$3" && curl -fsSL --globoff --proto-redir =https --retry 2 -o "$2" "$1") || fail "$1 could not be downloaded, or is larger than it can be"
	elif command -v wget >/dev/null 2>&1; then
		(ulimit -f "$3" && wget -q -O "$2" "$1") || fail "$1 could not be downloaded, or is larger than it can be"
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
	[ ! -d "$2/$3" ] || fail "$2/$3 is a directory, and in the way: nothing was installed"
	dir=$2
	while [ ! -d "$dir" ]; do
		printf '%s\n' "$dir" >>"$work/made"
		dir=$(dirname "$dir")
	done
	mkdir -p "$2"
	printf '%s\n' "$2/$3" >>"$work/staged"
	cp "$1" "$2/$3.$new"
	chmod "$4" "$2/$3.$new"
}

# finish has all that is staged take its place, and is not interrupted in the middle. A program that runs goes on.
finish() {
	trap '' INT TERM HUP
	while IFS= read -r file; do
		mv -f "$file.$new" "$file"
	done <"$work/staged"
	: >"$work/made"
}

# clean removes what is staged and has not taken its place, and directories that were made for it.
clean() {
	while IFS= read -r file; do
		rm -f "$file.$new"
	done <"$work/staged"
	sort -r "$work/made" | while IFS= read -r dir; do # what is in a directory comes before it
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
	case $version in *[!0-9A-Za-z.+-]*) fail "$version is no version: say one such as v0.1.0" ;; esac # it is a part of the address
	case $prefix in
	'') fail "no directory is named, or HOME is not set: say where to install with --prefix" ;;
	*"$newline"*) fail "the prefix is of two lines: say where to install with --prefix" ;;
	/*) ;;
	*) prefix=$PWD/$prefix ;;
	esac
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
	new=new.${work##*.} # what a staged file's name ends with
	: >"$work/staged"
	: >"$work/made"
	trap clean EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP

	# A line of the checksums is a digest, two spaces and a name. One line has to name the archive for this system.
	fetch "$url/checksums.txt" "$work/checksums.txt" 2048
	lines=$(grep -cE "^[0-9a-f]{64}  signalbox_[0-9A-Za-z.+~-]+_${system}_$machine\.tar\.gz\$" "$work/checksums.txt") || true
	[ "$lines" = 1 ] || fail "checksums.txt of $url names $lines archives for $system/$machine, and one is needed: nothing was installed"
	line=$(grep -E "^[0-9a-f]{64}  signalbox_[0-9A-Za-z.+~-]+_${system}_$machine\.tar\.gz\$" "$work/checksums.txt")
	want=${line%% *}
	archive=${line##* }
	fetch "$url/$archive" "$work/$archive" 1000000
	got=$(digest "$work/$archive")
	[ "$got" = "$want" ] || fail "$archive has the SHA-256 $got, and checksums.txt says $want: nothing was installed"

	mkdir "$work/files"
	tar -xzf "$work/$archive" -C "$work/files" || fail "$archive can't be unpacked: nothing was installed"
	# A link could lead to a file of yours, and what is done to it would be done to that.
	odd=$(find "$work/files" ! -type d ! -type f -o -type f -links +1)
	[ -z "$odd" ] || fail "$archive has links, and a release has none: nothing was installed"
	for program in signalbox portfolio; do
		[ -f "$work/files/$program" ] || fail "$archive has no $program: nothing was installed"
		chmod 755 "$work/files/$program"
	done
	said=$("$work/files/signalbox" version) || fail "signalbox of $archive does not run on this machine, or no program may be run in ${TMPDIR:-/tmp} (set TMPDIR then): nothing was installed"

	for page in "$work"/files/man/*.1; do
		case ${page##*/} in *[!0-9a-z.-]*) fail "$archive has a manual page whose name is none: nothing was installed" ;; esac
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
