#!/usr/bin/env bash
# Compiles the program for a target and packages it:
#
#   dist/release.sh TARGET OUT
#
# With the profile `dist`, and with no path of this machine in the program, so that two machines with the same
# toolchain make the same bytes. CARGO names another cargo, for example `cargo-zigbuild`.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1
out=$2

rustup target add "$target"
# Git for Windows' sh writes paths in its own way (/d/a), which the compiler does not know.
native() {
    if command -v cygpath >/dev/null; then cygpath --mixed "$1"; else echo "$1"; fi
}
sources=$(native "$PWD")
home=$(native "${CARGO_HOME:-$HOME/.cargo}")
export CARGO_ENCODED_RUSTFLAGS=--remap-path-prefix=$sources=.$'\x1f'--remap-path-prefix=$home=cargo
# The same for the grammars and other sources in C. __DATE__ and __TIME__ are those of the commit.
export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$sources=. -ffile-prefix-map=$home=cargo"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
case $target in *-windows-msvc) unset CFLAGS ;; esac
"${CARGO:-cargo}" build --locked --profile dist --target "$target"

folder=target/$target/dist
program=$folder/git-codeweaver
[ ! -f "$program.exe" ] || program=$program.exe
"$(command -v python3 || command -v python)" dist/build.py "$target" "$program" "$out"
