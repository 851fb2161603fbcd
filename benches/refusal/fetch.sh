#!/bin/bash
# Makes the repositories of real.txt in the directory $1, from Debian, PyPI, npm, crates.io and GitHub.
# Needs apt-get with source packages (deb-src), dpkg-dev, pip, npm, cargo, git and unzip. Versions are those
# of 2026-11 unless the registry has newer ones; figures then differ a little.
set -euo pipefail
repositories=$(realpath -m "$1")
mkdir -p "$repositories"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# A repository with one commit of all files.
commit() {
    cd "$repositories/$1"
    git init -q
    git add -A -f .
    git -c user.name=refusal -c user.email=refusal@localhost commit -qm import
    cd "$work"
}

# NAME=PACKAGE where the names differ.
debian_sources="ack box2d chrony cmatrix commonmark=php-league-commonmark commons-csv dokuwiki elixir=elixir-lang figlet
fzf gnucash go-toml=golang-github-pelletier-go-toml haskell-tls image-exiftool=libimage-exiftool-perl
jgrapht=libjgrapht0.8-java jq json-lib=libjson-java jsoup keepass2 ledger lua-argparse lua-lpeg lzip mpg123 nethack
pdfbox=libpdfbox2-java php-parsedown php-twig pugixml pv restic scite tinyproxy tinyxml2 units zxing"
debian_packages="lua-penlight lynis miekg-dns=golang-github-miekg-dns-dev prosody ruby-mail ruby-mustache ruby-redcarpet
ruby-rouge ruby-sass testssl.sh"
python_wheels="beancount humanize icalendar mido mistune networkx pdfminer_six=pdfminer.six pint pyte schedule tinydb"
npm_packages="chess.js immer leaflet luxon nanoid pdf-lib rxjs tone"
crates="brotli-decompressor fst gimli grid humantime hyphenation lewton lopdf lru ogg printpdf roaring rustyline taffy
textwrap unicode-bidi weezl"
github="Rainbow=onevcat/Rainbow kramdown=gettalong/kramdown okio=square/okio os-lib=com-lihaoyi/os-lib
shellcheck=koalaman/shellcheck"

for pair in $debian_sources; do
    apt-get source --download-only -q "${pair#*=}" || { echo "no sources of ${pair#*=}" >&2; continue; }
    # shellcheck disable=SC2010 # the newest; names of packages have no blanks
    archive=$(ls -t ./*.orig.tar.* | grep -v '\.asc$' | head -1)
    mkdir -p "$repositories/${pair%=*}"
    tar xf "$archive" -C "$repositories/${pair%=*}" --strip-components=1
    commit "${pair%=*}"
done
for pair in $debian_packages; do
    apt-get download -q "${pair#*=}"
    dpkg -x "${pair#*=}"_*.deb "$repositories/${pair%=*}"
    find "$repositories/${pair%=*}" -type l -delete
    commit "${pair%=*}"
done
for pair in $python_wheels; do
    pip download -q --no-deps --only-binary :all: -d "wheel-${pair%=*}" "${pair#*=}"
    unzip -qo "wheel-${pair%=*}"/*.whl -d "$repositories/${pair%=*}"
    commit "${pair%=*}"
done
pip download -q --no-deps --no-binary :all: -d sdist chess
mkdir -p "$repositories/chess"
tar xf sdist/chess-*.tar.gz -C "$repositories/chess" --strip-components=1
commit chess
for name in $npm_packages; do
    archive=$(npm pack --silent "$name")
    mkdir -p "$repositories/$name"
    tar xf "$archive" -C "$repositories/$name" --strip-components=1
    # What is built from the sources.
    (cd "$repositories/$name" && rm -rf dist build lib cjs es umd ts3.4)
    commit "$name"
done
mkdir -p crates/src
touch crates/src/lib.rs
{
    printf '[package]\nname = "crates"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n'
    for name in $crates; do echo "$name = \"*\""; done
} > crates/Cargo.toml
(cd crates && cargo vendor -q vendor > vendor.toml)
for name in $crates; do
    cp -r "crates/vendor/$name" "$repositories/$name"
    rm "$repositories/$name/.cargo-checksum.json"
    commit "$name"
done
for pair in $github; do
    git clone -q --depth 1 "https://github.com/${pair#*=}.git" "$repositories/${pair%=*}"
done
