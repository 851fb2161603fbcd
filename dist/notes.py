#!/usr/bin/env python3
"""Prints the section of CHANGELOG.md about a version, for the page of a release: `python3 dist/notes.py
vX.Y.Z`.

Fails if the tag is not the version in Cargo.toml, or if the section is still called unreleased."""

import re
import sys

from release import ROOT, Release


def section(changelog, version):
    """The text below `## VERSION (YYYY-MM-DD)`, or None."""
    heading = re.compile(
        rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL
    )
    found = heading.search(changelog)
    return found and found[1].strip() + "\n"


def main():
    version = sys.argv[1].removeprefix("v")
    if version != Release().version:
        sys.exit(f"error: the tag says {version}, Cargo.toml says {Release().version}")
    text = section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if text is None:
        sys.exit(f"error: CHANGELOG.md has no section `## {version} (YYYY-MM-DD)`")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
