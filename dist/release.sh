#!/usr/bin/env bash
# Compiles the program for a target and packages it:
#
#   dist/release.sh TARGET OUT
#
# With the profile `dist`, and with no path of this machine in the program, so that two machines with the same
# toolchain make the same bytes. CARGO names another cargo: `cargo-zigbuild`, for which TARGET may end with a version of
# glibc (x86_64-unknown-linux-gnu.2.28), or `.ci/cargo-std`, which makes the standard library of TARGET. DOCUMENTS_FROM
# names a program of this commit that runs here, if one for TARGET does not.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1
triple=${target%%.*}
out=$2

if ! compgen -G "$(rustc --print sysroot)/lib/rustlib/$triple/lib/libstd-*" >/dev/null &&
    [ "${CARGO:-}" != .ci/cargo-std ]; then
    rustup target add "$triple"
fi
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
case $triple in *-windows-msvc) unset CFLAGS ;; esac
# Also where CARGO_TARGET_DIR names another folder, as objects below this one have no path of the machine.
"${CARGO:-cargo}" build --locked --profile dist --target "$target" --target-dir target --bin git-codeweaver

folder=target/$triple/dist
program=$folder/git-codeweaver
[ ! -f "$program.exe" ] || program=$program.exe
"$(command -v python3 || command -v python)" dist/build.py "$triple" "$program" "$out" \
    ${DOCUMENTS_FROM:+--documents-from "$DOCUMENTS_FROM"}
