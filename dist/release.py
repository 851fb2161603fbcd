"""Facts about the release: version, time and texts from the repository, pages and completions from the
program."""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reproducible import File

ROOT = Path(__file__).resolve().parents[1]
NAME = "git-codeweaver"
# Shell to the file name that the shell looks for.
COMPLETIONS = {
    "bash": "git-codeweaver.bash",
    "zsh": "_git-codeweaver",
    "fish": "git-codeweaver.fish",
    "powershell": "_git-codeweaver.ps1",
}


def output(*command):
    return subprocess.run(
        [str(part) for part in command], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def cargo_metadata(*options):
    return json.loads(
        output(os.environ.get("CARGO", "cargo"), "metadata", "--locked", "--format-version", "1", *options)
    )


class Release:
    """The release that the checked-out commit makes. `SOURCE_DATE_EPOCH`, or else the time of the commit, is
    the time of every file."""

    def __init__(self):
        packages = cargo_metadata("--no-deps")["packages"]
        package = next(package for package in packages if package["name"] == NAME)
        self.version = package["version"]
        self.description = package["description"]
        self.repository = package["repository"]
        self.licence = package["license"]
        self.keywords = package["keywords"]
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))

    @property
    def stem(self):
        return f"{NAME}-{self.version}"

    @property
    def downloads(self):
        """The address of the directory that the artefacts are published in."""
        return f"{self.repository}/releases/download/v{self.version}"

    @cached_property
    def texts(self):
        """Texts that go with every copy of the program."""
        found = {name: File((ROOT / name).read_bytes()) for name in ("LICENSE-APACHE", "LICENSE-MIT")}
        for name in ("README.md", "CHANGELOG.md"):
            found[name] = File(self.with_addresses((ROOT / name).read_text(encoding="utf-8")).encode())
        return found

    def with_addresses(self, text):
        """A page whose links lead to the repository, as the files beside it are not part of a package."""
        tree = f"{self.repository}/raw/v{self.version}", f"{self.repository}/blob/v{self.version}"

        def absolute(match):
            return f"]({tree[0] if match[1].endswith('.svg') else tree[1]}/{match[1]}"

        return re.sub(r"\]\((?!\w+:|#)([^)\s]+)", absolute, text)


@dataclass(frozen=True)
class Documents:
    """Completions and manual pages, name → bytes."""

    completions: dict
    pages: dict

    @classmethod
    def from_program(cls, program):
        """Asks a program that runs on this machine. Its answers are the same on all platforms."""
        completions = {
            name: subprocess.run([program, "completions", shell], check=True, capture_output=True).stdout
            for shell, name in COMPLETIONS.items()
        }
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, "man", "--out", folder], check=True, capture_output=True)
            pages = {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
        return cls(completions, pages)

    def files(self):
        """The files as archives and the npm package lay them out."""
        found = {f"completions/{name}": File(text) for name, text in self.completions.items()}
        found |= {f"man/man1/{name}": File(text) for name, text in self.pages.items()}
        return found


@dataclass(frozen=True)
class Build:
    """One program to package, with everything that goes along."""

    release: Release
    target: object
    program: Path
    documents: Documents
    licences: bytes
    sbom: bytes

    @cached_property
    def program_file(self):
        return File(self.program.read_bytes(), executable=True)

    def legal(self):
        """Our licences, those of the dependencies, and the list of the dependencies."""
        own = {name: file for name, file in self.release.texts.items() if name.startswith("LICENSE-")}
        return own | {"LICENSE-DEPENDENCIES.txt": File(self.licences), "sbom.cdx.json": File(self.sbom)}
