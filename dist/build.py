#!/usr/bin/env python3
"""Packages a built program for everything that people install from:

    python3 dist/build.py TARGET PROGRAM OUT    the artefacts of one target, then the manifests of all in OUT
    python3 dist/build.py --manifests OUT       the manifests alone, once OUT has the artefacts of all targets

TARGET is a triple of rustc (`targets.py`), PROGRAM the program for it. A program that does not run on this
machine needs another, `--documents-from PROGRAM`, to print completions and manual pages. OUT gets

    git-codeweaver-VERSION-TARGET.tar.xz            program, pages, completions, licences (.zip for Windows)
    git_codeweaver-VERSION-py3-none-PLATFORM.whl    for pip, uvx and pipx
    git-codeweaver-PLATFORM-VERSION.tgz             for npm: the program
    git-codeweaver_VERSION_ARCHITECTURE.deb         for targets with glibc
    git-codeweaver-VERSION-TARGET.cdx.json          what is in it (CycloneDX)
    git-codeweaver-VERSION.tgz                      for npm: what people install
    git-codeweaver-VERSION.vsix                     the extension for Visual Studio Code
    GitCodeweaver.GitCodeweaver*.yaml               for winget
    git-codeweaver.rb, scoop.json, server.json, Dockerfile, SHA256SUMS

The same commit and program give the same bytes. Needs Python 3.11, git, cargo, and readelf for targets with
glibc. CARGO names another cargo. Why this is a script and not cargo-dist: docs/releasing.md.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dependencies
import elf
import manifests
import packages
from release import Build, Documents, Release
from targets import TARGETS

# A download should not keep anyone waiting.
LARGEST_BYTES = 25_000_000


def makers(target):
    """The packages of a target, those that take longest first."""
    chosen = [packages.archive]
    if target.deb:
        chosen.append(packages.deb)
    return [*chosen, packages.wheel, packages.npm_platform]


def build(target, program, documents_from, out):
    release = Release()
    linked = dependencies.linked_crates(release, target.triple)
    build = Build(
        release,
        target,
        program,
        Documents.from_program(documents_from),
        dependencies.licences(linked),
        dependencies.sbom(release, target, linked),
    )

    out.mkdir(parents=True, exist_ok=True)
    (out / f"{release.stem}-{target.triple}.cdx.json").write_bytes(build.sbom)
    # Compression leaves the interpreter to others.
    with ThreadPoolExecutor(2) as pool:
        for name, contents in pool.map(lambda make: make(build), makers(target)):
            (out / name).write_bytes(contents)
            size = f"{len(contents) / 1e6:.1f} MB"
            print(f"{size:>9}  {name}{'  above 25 MB' if len(contents) > LARGEST_BYTES else ''}")
    manifests.write_all(release, out)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", choices=sorted(TARGETS))
    parser.add_argument("program", nargs="?", metavar="PROGRAM", type=Path)
    parser.add_argument("out", metavar="OUT", type=Path)
    parser.add_argument("--documents-from", metavar="PROGRAM", type=Path)
    parser.add_argument("--manifests", action="store_true")
    options = parser.parse_args()

    if options.manifests:
        manifests.write_all(Release(), options.out)
        return
    if not options.target or not options.program:
        parser.error("TARGET and PROGRAM are missing")
    program = options.program.resolve()
    try:
        build(TARGETS[options.target], program, (options.documents_from or program).resolve(), options.out)
    except (elf.NotPortable, dependencies.NoLicence) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
