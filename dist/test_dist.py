"""Tests of the packages of a release: `python3 -m unittest discover --start-directory dist`.

The packaged program is a small one in C; completions and manual pages are those of
target/debug/git-codeweaver, or of the program that CODEWEAVER_TEST_BINARY names. `try.py` installs the real
thing."""

import base64
import hashlib
import importlib
import io
import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import dependencies
import elf
import manifests
import notes
import record
from release import NAME, Release
from reproducible import File, ar, tar, xz, zipped
from targets import TARGETS

PROGRAM = Path(
    os.environ.get("CODEWEAVER_TEST_BINARY", HERE.parent / "target/debug/git-codeweaver")
).absolute()
TARGET = f"{platform.machine()}-unknown-linux-gnu"
WAITS_FOR_SIGTERM = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(print("ended")))
print("ready", flush=True)
time.sleep(30)
"""
# Where a release states its version, besides the changelog.
VERSIONS = {
    "Cargo.toml": r'^(?:codeweaver.*, )?version = "(.*?)"',
    "docs/ci.md": r"(?<![\d.])\d+\.\d+\.\d+(?:-[\w.]+)?",
    "editors/neovim/lua/codeweaver/server.lua": r'clientInfo = .*version = "(.*?)"',
    "editors/vscode/package.json": r'^  "version": "(.*?)"',
    "integrations/devcontainer/git-codeweaver/devcontainer-feature.json": r'"(?:version|default)": "(.*?)"',
    "integrations/devcontainer/git-codeweaver/install.sh": r"VERSION:-(.*?)}",
    "plugin/.claude-plugin/plugin.json": r'"version": "(.*?)"',
    "server.json": r'"version": "(.*?)"',
    "testkit/Cargo.toml": r'^version = "(.*?)"',
    "training/Cargo.toml": r'^version = "(.*?)"',
}
SOURCE = '#include <stdio.h>\nint main(void) { puts("packaged"); return 0; }\n'


def compile_c(folder, name, source, *options):
    path = folder / name
    subprocess.run(
        ["cc", "-x", "c", "-", "-o", path, *options], input=source, text=True, check=True, cwd=folder
    )
    return path


def contents_of(folder):
    """Path → digest of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@unittest.skipUnless(sys.platform == "linux" and TARGET in TARGETS, "packages programs for Linux")
class Packages(unittest.TestCase):
    """All packages of one program, made once."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.program = compile_c(cls.folder, "program", SOURCE)
        cls.out = cls.build("first")
        cls.release = Release()

    @classmethod
    def build(cls, name, **environment):
        out = cls.folder / name
        command = [
            sys.executable,
            "-B",
            HERE / "build.py",
            TARGET,
            cls.program,
            out,
            "--documents-from",
            PROGRAM,
        ]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return out

    def only(self, pattern):
        (path,) = self.out.glob(pattern)
        return path

    def test_two_builds_are_the_same(self):
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        again = self.build(
            "again", TZ="Asia/Kolkata", LC_ALL="C", PYTHONHASHSEED="7", HOME=os.environ["HOME"]
        )
        self.assertEqual(contents_of(again), contents_of(self.out))

    def test_every_file_has_its_checksum(self):
        lines = (self.out / "SHA256SUMS").read_text().splitlines()
        listed = {path: digest for digest, path in (line.split("  ") for line in lines)}
        there = contents_of(self.out)
        del there["SHA256SUMS"]
        self.assertEqual(listed, there)

    def test_the_archive_has_program_documents_and_licences(self):
        path = self.only("*.tar.xz")
        stem = path.name.removesuffix(".tar.xz")
        with tarfile.open(path) as archive:
            members = {member.name.removeprefix(f"{stem}/"): member for member in archive}
        self.assertEqual(members["git-codeweaver"].mode, 0o755)
        for name in [
            "completions/git-codeweaver.bash",
            "completions/_git-codeweaver",
            "completions/git-codeweaver.fish",
            "completions/_git-codeweaver.ps1",
            "man/man1/git-codeweaver.1",
            "man/man1/git-codeweaver-search.1",
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "LICENSE-DEPENDENCIES.txt",
            "sbom.cdx.json",
        ]:
            self.assertEqual(members[name].mode, 0o644, name)
            self.assertGreater(members[name].size, 0, name)

    def test_the_wheel_says_what_the_program_needs(self):
        path = self.only("*.whl")
        tag = path.name.removesuffix(".whl").split("-", 2)[2]
        self.assertRegex(tag, rf"^py3-none-manylinux_2_\d+_{platform.machine()}$")
        with zipfile.ZipFile(path) as archive:
            files = {info.filename: archive.read(info) for info in archive.infolist()}
            script = archive.getinfo(f"git_codeweaver-{self.release.version}.data/scripts/git-codeweaver")
        self.assertEqual(script.external_attr >> 16, 0o100755)
        info = f"git_codeweaver-{self.release.version}.dist-info"
        self.assertIn(f"Tag: {tag}\n", files[f"{info}/WHEEL"].decode())
        self.assertIn(f"Name: {NAME}\nVersion: {self.release.version}\n", files[f"{info}/METADATA"].decode())

        recorded = {}
        for line in files[f"{info}/RECORD"].decode().splitlines():
            name, digest, _ = line.rsplit(",", 2)
            recorded[name] = digest
        self.assertEqual(recorded.pop(f"{info}/RECORD"), "")
        del files[f"{info}/RECORD"]
        digests = {
            name: "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
            for name, text in files.items()
        }
        self.assertEqual(recorded, digests)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "dpkg-deb is missing")
    def test_the_deb_is_one_for_dpkg(self):
        path = self.only("*.deb")
        fields = subprocess.run(
            ["dpkg-deb", "--field", path], capture_output=True, text=True, check=True
        ).stdout
        self.assertIn(f"Package: {NAME}\nVersion: {self.release.version}\n", fields)
        self.assertRegex(fields, r"Depends: git, libc6 \(>= 2\.\d+\)")

        place = self.folder / "deb"
        subprocess.run(["dpkg-deb", "--raw-extract", path, place], check=True)
        subprocess.run(["md5sum", "--check", "--quiet", "DEBIAN/md5sums"], cwd=place, check=True)
        self.assertEqual(
            subprocess.run([place / "usr/bin/git-codeweaver"], capture_output=True).stdout, b"packaged\n"
        )
        self.assertTrue((place / "usr/share/man/man1/git-codeweaver.1.gz").is_file())

    def test_the_extension_is_one_for_visual_studio_code(self):
        with zipfile.ZipFile(self.only("*.vsix")) as archive:
            files = {info.filename: archive.read(info) for info in archive.infolist()}
        about = json.loads(files["extension/package.json"])
        self.assertEqual(about["version"], self.release.version)
        self.assertEqual(self.only("*.vsix").name, f"{NAME}-{self.release.version}.vsix")

        space = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"
        manifest = ElementTree.fromstring(files["extension.vsixmanifest"])
        identity = manifest.find(f"{space}Metadata/{space}Identity").attrib
        self.assertEqual(
            [identity["Publisher"], identity["Id"], identity["Version"]],
            [about["publisher"], about["name"], about["version"]],
        )
        properties = {part.get("Id"): part.get("Value") for part in manifest.iter(f"{space}Property")}
        self.assertEqual(properties["Microsoft.VisualStudio.Code.Engine"], about["engines"]["vscode"])
        for asset in manifest.iter(f"{space}Asset"):
            self.assertIn(asset.get("Path"), files)

        types = ElementTree.fromstring(files["[Content_Types].xml"])
        known = {part.get("Extension") for part in types}
        self.assertEqual({Path(name).suffix for name in files} - known, {".xml"})

        # The parts that the editor loads are there.
        self.assertIn(f"extension/{about['main'].removeprefix('./')}", files)
        scripts = [name for name in files if name.endswith(".js")]
        required = {
            part for name in scripts for part in re.findall(r"require\('\./(\w+)'\)", files[name].decode())
        }
        self.assertEqual({f"extension/{part}.js" for part in required} - files.keys(), set())
        self.assertGreater(len(required), 0)

    def test_the_workflow_builds_every_target(self):
        workflow = (HERE.parent / ".github/workflows/release.yml").read_text(encoding="utf-8")
        built = re.findall(r"- \{ target: (\S+), os: \S+ \}", workflow)
        self.assertEqual(sorted(built), sorted(TARGETS))

    def test_the_question_of_the_readme_is_tried(self):
        trial = importlib.import_module("try")
        self.assertGreater(len(trial.QUESTION.split()), 3)
        self.assertTrue((HERE.parent / trial.EXPECTED.removeprefix("1. ").rstrip(":")).is_file())

    def test_links_of_the_readme_lead_to_the_repository(self):
        text = self.release.texts["README.md"].contents.decode()
        self.assertIn(f"{self.release.repository}/raw/v{self.release.version}/docs/terminal.svg)", text)
        self.assertIn(f"{self.release.repository}/blob/v{self.release.version}/docs/cli.md)", text)
        self.assertEqual(re.findall(r"\]\((?!https:|#)", text), [])

    def test_npm_installs_the_program_of_the_platform(self):
        with tarfile.open(self.out / f"{NAME}-{self.release.version}.tgz") as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
            names = archive.getnames()
        for path in [*manifest["man"], *manifest["bin"].values()]:
            self.assertIn(f"package/{path}", names)
        cpu = TARGETS[TARGET].npm[1]
        self.assertEqual(
            manifest["optionalDependencies"], {f"@git-codeweaver/linux-{cpu}": self.release.version}
        )

    def test_the_list_of_components_is_that_of_the_licences(self):
        document = json.loads(self.only("*.cdx.json").read_text())
        named = {(part["name"], part["version"]) for part in document["components"]}
        self.assertIn("tree-sitter", {name for name, _ in named})
        self.assertNotIn("proptest", {name for name, _ in named}, "tests are not linked")
        with tarfile.open(self.only("*.tar.xz")) as archive:
            member = next(member for member in archive if member.name.endswith("LICENSE-DEPENDENCIES.txt"))
            text = archive.extractfile(member).read().decode()
        self.assertEqual(named, set(re.findall(r"^([\w-]+) (\d+\.\d+\.\S+) \(", text, re.MULTILINE)))
        self.assertIn("all-MiniLM-L6-v2 (Apache License 2.0)", text)
        self.assertIn(("rust-std", dependencies.Runtime.from_rustc(TARGET).version), named)

        refs = {part["bom-ref"] for part in document["components"]}
        refs.add(document["metadata"]["component"]["bom-ref"])
        for edge in document["dependencies"]:
            self.assertLessEqual({edge["ref"], *edge["dependsOn"]}, refs)

    def test_manifests_name_the_archives_of_all_platforms(self):
        out = self.folder / "all"
        shutil.copytree(self.out, out)
        names = {
            triple: f"{NAME}-{self.release.version}-{triple}.{extension}"
            for triple, extension in [("aarch64-apple-darwin", "tar.xz"), ("x86_64-pc-windows-msvc", "zip")]
        }
        for name in names.values():
            (out / name).write_bytes(name.encode())
        manifests.write_all(self.release, out)

        for triple, places in [
            ("aarch64-apple-darwin", ["git-codeweaver.rb"]),
            ("x86_64-pc-windows-msvc", ["scoop.json", "GitCodeweaver.GitCodeweaver.installer.yaml"]),
        ]:
            digest = hashlib.sha256(names[triple].encode()).hexdigest()
            for place in places:
                text = (out / place).read_text()
                self.assertIn(f"/v{self.release.version}/{names[triple]}", text)
                self.assertIn(digest, text.lower())
        self.assertTrue(all(path.is_file() for path in out.iterdir()), "the forge has no folders")
        json.loads((out / "scoop.json").read_text())
        json.loads((out / "server.json").read_text())


class Recording(unittest.TestCase):
    def test_a_screen_is_what_the_output_left(self):
        screen = record.Screen()
        screen.feed(
            "10 %\r\x1b[2K\x1b[1;32mdone\x1b[0m in\ttwo\r\nnext\x1b]8;;file:///x\x1b\\\x1b[1A\x1b[3Gn"
        )
        text = ["".join(character for character, _ in row) for row in screen.rows]
        self.assertEqual(text, ["done in two", "next"])
        self.assertEqual(screen.rows[0][0][1], record.Style(colour=record.PALETTE[2], bold=True))
        self.assertEqual(screen.rows[0][2][1], record.Style())

    def test_a_line_is_wrapped_at_the_width(self):
        screen = record.Screen()
        screen.feed("x" * record.COLUMNS + "\r\n" + "y" * (record.COLUMNS + 2))
        self.assertEqual([len(row) for row in screen.rows], [record.COLUMNS, record.COLUMNS, 2])

    @unittest.skipIf(sys.platform == "win32", "needs a pseudo-terminal")
    def test_a_picture_has_every_line_in_its_place_and_colour(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.svg"
            command = "test -t 1; printf '\\033[31m  a <b>\\033[0m  c\\n'"
            subprocess.run(
                [sys.executable, "-B", HERE / "record.py", out, folder, command, "echo x"], check=True
            )
            picture = ElementTree.parse(out)
        texts = picture.findall(".//{http://www.w3.org/2000/svg}text")
        shown = [(text.text.replace("\u00a0", " "), text.get("fill")) for text in texts]
        self.assertIn(("a <b>", record.PALETTE[1]), shown)
        self.assertIn(("c", None), shown)
        self.assertEqual(shown[-1], ("x", None))


class Parts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_archives_depend_on_contents_alone(self):
        files = {"b/program": File(b"x" * 1000, executable=True), "a": File(b"text")}
        backwards = dict(reversed(files.items()))
        for make in (tar, zipped):
            self.assertEqual(make(files, 1_700_000_000), make(backwards, 1_700_000_000))
        self.assertEqual(lzma.decompress(xz(b"\xe8\0\0\0\0" * 100, is_x86=True)), b"\xe8\0\0\0\0" * 100)
        self.assertTrue(ar([("odd", b"abc")], 0).endswith(b"abc\n"), "members begin at even offsets")
        with tarfile.open(fileobj=io.BytesIO(tar(files, 5, with_directories=True))) as archive:
            self.assertEqual(
                [(member.name, member.mode) for member in archive],
                [("b", 0o755), ("a", 0o644), ("b/program", 0o755)],
            )

    @unittest.skipUnless(sys.platform == "linux", "reads programs for Linux")
    def test_a_library_that_not_every_system_has_is_no_part_of_a_wheel(self):
        compile_c(self.folder, "libown.so", "int own(void) { return 1; }\n", "-shared", "-fPIC")
        source = "int own(void); int main(void) { return own(); }\n"
        program = compile_c(self.folder, "program", source, "-L.", "-lown")
        with self.assertRaisesRegex(elf.NotPortable, "libown.so"):
            elf.platform_tag(program, "x86_64")

    @unittest.skipUnless(sys.platform == "linux", "reads programs for Linux")
    def test_the_tag_follows_the_newest_symbol(self):
        # `memfd_create` came with glibc 2.27, `getrandom` with 2.25.
        source = (
            "int memfd_create(); int getrandom(); int main(void) { return memfd_create() + getrandom(); }\n"
        )
        program = compile_c(self.folder, "program", source, "-w")
        self.assertGreaterEqual(elf.glibc_version(program), (2, 27))
        static = compile_c(self.folder, "static", "int main(void) { return 0; }\n", "-static")
        self.assertIsNone(elf.glibc_version(static))

    def test_a_crate_without_a_text_of_its_licence(self):
        crate = {"name": "small", "version": "1.0.0", "license": "MIT", "authors": ["A. Author"]}
        self.assertIn("Copyright (c) A. Author", dependencies.text_of_declaration(crate))
        self.assertIn("Permission is hereby granted", dependencies.text_of_declaration(crate))
        with self.assertRaises(dependencies.NoLicence):
            dependencies.text_of_declaration({**crate, "license": "GPL-3.0"})

    def test_notices_of_what_rustc_links(self):
        runtime = dependencies.Runtime.from_rustc("x86_64-unknown-linux-musl")
        notices = list(dependencies.runtime_notices(runtime))
        texts = "".join(text for line, text in notices if line.startswith(f"rust-std {runtime.version} ("))
        self.assertIn("The Rust Project Developers", texts)
        self.assertIn("Permission is hereby granted", texts)
        self.assertRegex(dict(reversed(notices))[f"musl in rust-std {runtime.version} (MIT)"], "Rich Felker")
        names = [part["name"] for part in dependencies.runtime_components(runtime)]
        self.assertEqual(names, ["rust-std", "musl"])
        # rustup installs the notices of the crates in the library.
        if (runtime.documents / "COPYRIGHT-library.html").exists():
            self.assertIn("hashbrown", {line.split()[0] for line, _ in notices})

        other = dependencies.Runtime("1.2.3", self.folder, has_musl=False)
        (notice,) = dependencies.runtime_notices(other)
        self.assertEqual(notice[0], "rust-std 1.2.3 (MIT OR Apache-2.0)")
        self.assertIn("Copyright (c) The Rust Project Developers", notice[1])

    def test_notes_are_the_section_of_the_version(self):
        changelog = "# Changelog\n\n## 1.1.0 (2026-12-01)\n\n* New.\n\n## 1.0.0 (2026-11-01)\n\n* Old.\n"
        self.assertEqual(notes.section(changelog, "1.1.0"), "* New.\n")
        self.assertEqual(notes.section(changelog, "1.0.0"), "* Old.\n")
        self.assertIsNone(notes.section("## 1.2.0 (unreleased)\n\n* Newer.\n", "1.2.0"))


class Versions(unittest.TestCase):
    def test_every_file_states_the_version_of_cargo(self):
        # Not of cargo, which wants a current Cargo.lock.
        manifest = tomllib.loads((HERE.parent / "Cargo.toml").read_text(encoding="utf-8"))
        version = manifest["workspace"]["package"]["version"]
        for name, pattern in VERSIONS.items():
            with self.subTest(name):
                found = re.findall(pattern, (HERE.parent / name).read_text(encoding="utf-8"), re.MULTILINE)
                self.assertEqual(set(found), {version})


@unittest.skipUnless(shutil.which("node") and sys.platform == "linux", "node is missing")
class Launcher(unittest.TestCase):
    """The launcher of npm beside a program that is a script."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = Path(folder.name) / "node_modules"
        (self.place / NAME).mkdir(parents=True)
        shutil.copy(HERE / "npm/launcher.js", self.place / NAME)

    def install(self, name, script):
        package = self.place / "@git-codeweaver" / name
        package.mkdir(parents=True)
        (package / "package.json").write_text("{}")
        (package / "git-codeweaver").write_text(f"#!/bin/sh\n{script}\n")
        (package / "git-codeweaver").chmod(0o755)

    def start(self, *arguments):
        command = ["node", self.place / NAME / "launcher.js", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def here(self):
        arguments = ["node", "-p", "process.platform + '-' + process.arch"]
        return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.strip()

    def test_arguments_streams_and_exit_code_are_those_of_the_program(self):
        self.install(self.here(), 'cat; printf "%s\\n" "$@"; echo aside >&2; exit 3')
        process = self.start("search", "two words")
        self.assertEqual(
            process.communicate("typed\n", timeout=20), ("typed\nsearch\ntwo words\n", "aside\n")
        )
        self.assertEqual(process.returncode, 3)

    def test_a_signal_reaches_the_program(self):
        self.install(self.here(), f"exec {sys.executable} -c '{WAITS_FOR_SIGTERM}'")
        process = self.start()
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.terminate()
        out, _ = process.communicate(timeout=20)
        self.assertEqual((out, process.returncode), ("ended\n", 0))

    def test_a_platform_without_a_program_is_named(self):
        process = self.start()
        _, error = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 2)
        self.assertIn(f"@git-codeweaver/{self.here()}", error)


if __name__ == "__main__":
    unittest.main()
