"""The crates and the standard library that a program is made of: their list in the format of CycloneDX, and
the texts of their licences."""

import html
import json
import os
import re
import uuid
from dataclasses import dataclass
from pathlib import Path

from release import NAME, ROOT, cargo_metadata, output

LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)([-_. ].*)?", re.IGNORECASE)
# Sources in C are some folders below the crate that compiles them: `zstd-sys/zstd/LICENSE`. Folders of tests
# are not linked.
DEPTH = 3
NOT_LINKED = {"tests", "test", "benches", "examples", "doc", "docs", "contrib", "fuzz", "testdata"}
# The text stands for any crate whose archive has none; its declaration of the licence is in Cargo.toml.
MIT_TEXT = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8").partition("Permission is hereby")
APACHE_TEXT = (ROOT / "LICENSE-APACHE").read_text(encoding="utf-8")
BOOST_TEXT = (ROOT / "dist/licences/BSL-1.0.txt").read_text(encoding="utf-8")
# From Debian's package of musl 1.2.3, which has the texts of all its parts.
MUSL_TEXT = (ROOT / "dist/licences/musl.txt").read_text(encoding="utf-8")
RUST_LICENCE = "MIT OR Apache-2.0"


class NoLicence(Exception):
    """A crate neither has the text of its licence nor names one whose text is known here."""


@dataclass(frozen=True)
class Linked:
    """Crates of other people that a program is linked with, sorted by name and version, and who depends on
    whom: `edges` leads from the purl of each to those that it uses. Those of all members of the workspace are
    the program's."""

    crates: list
    edges: dict
    runtime: "Runtime"


@dataclass(frozen=True)
class Runtime:
    """What rustc links with every program for a target: the standard library of its version and, if
    `has_musl`, the libc that it brings along. `documents` is the folder with the notices, which not every
    distribution has."""

    version: str
    documents: Path
    has_musl: bool

    @classmethod
    def from_rustc(cls, triple):
        rustc = os.environ.get("RUSTC", "rustc")
        version = output(rustc, "--version").split()[1]
        sysroot = Path(output(rustc, "--print", "sysroot").strip())
        return cls(version, sysroot / "share/doc/rust", "-linux-musl" in triple)


def linked_crates(release, triple):
    """What the program for a target is linked with. Dependencies of build scripts and tests are not part of
    it."""
    metadata = cargo_metadata("--filter-platform", triple)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    own = purl_of(NAME, release.version)

    # Members of the workspace have no source.
    purls = {
        id: purl_of(package["name"], package["version"]) if package["source"] else own
        for id, package in packages.items()
    }
    reached, edges = set(), {}
    waiting = [id for id, package in packages.items() if package["name"] == NAME]
    while waiting:
        id = waiting.pop()
        if id in reached:
            continue
        reached.add(id)
        uses = edges.setdefault(purls[id], set())
        for dependency in nodes[id]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
                uses.add(purls[dependency["pkg"]])

    edges[own].discard(own)
    foreign = [packages[id] for id in reached if packages[id]["source"]]
    crates = sorted(foreign, key=lambda package: (package["name"], package["version"]))
    return Linked(crates, edges, Runtime.from_rustc(triple))


def purl_of(name, version):
    return f"pkg:cargo/{name}@{version}"


def licence_texts(package):
    """The texts of licences in the archive of a crate, sorted by path."""
    top = Path(package["manifest_path"]).parent
    paths = []
    for folder, below, names in os.walk(top):
        depth = len(Path(folder).relative_to(top).parts) + 1
        below[:] = [] if depth >= DEPTH else [name for name in below if name not in NOT_LINKED]
        paths += [Path(folder, name) for name in names if is_licence(name)]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(paths)]
    # Sources that may be used under the GPL or another licence have both texts. deny.toml allows the other
    # alone.
    texts = [text for text in texts if "GNU GENERAL PUBLIC LICENSE" not in text[:200]]
    return texts or [text_of_declaration(package)]


def is_licence(name):
    return LICENCE_FILE.fullmatch(name) and not name.endswith((".rs", ".c", ".h", ".py", ".json"))


def text_of_declaration(package):
    """The text of the licence that Cargo.toml names, for crates that are published without it."""
    declared = package["license"] or ""
    holders = ", ".join(package["authors"]) or f"the authors of {package['name']}"
    if "MIT" in declared:
        return f"MIT License\n\nCopyright (c) {holders}\n\n" + "".join(MIT_TEXT[1:])
    if "Apache-2.0" in declared:
        return f"Copyright {holders}\n\n{APACHE_TEXT}"
    if "BSL-1.0" in declared:
        return f"Copyright {holders}\n\n{BOOST_TEXT}"
    raise NoLicence(
        f"{package['name']} {package['version']} ({declared or 'no licence'}) has no text of its licence"
    )


def normalised(text):
    """A text with one form of line ends and blanks, so that the same licence is printed once."""
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").strip().split("\n"))


def runtime_notices(runtime):
    """The notices about the standard library, the crates in it and libc, as pairs of a name and a text."""
    library = f"rust-std {runtime.version} ({RUST_LICENCE})"
    page = runtime.documents / "COPYRIGHT-library.html"
    if page.exists():
        own, *crates = page.read_text(encoding="utf-8").split("<h3>📦 ")
        yield library, without_tags(own.rpartition("</ul>")[2])
        named = re.findall(r"[\w.-]+", " ".join(re.findall(r"License:</b>(.*?)</p>", own)))
        for path in sorted(runtime.documents.glob("licenses/*.txt")):
            if path.stem in named:
                yield library, path.read_text(encoding="utf-8")

        for crate in crates:
            name, version, licence = re.match(
                r"(\S+?)-(\d\S*)</h3>.*?License:</b> (.*?)</p>", crate, re.DOTALL
            ).groups()
            # Those without a text are for platforms that no release is built for.
            for text in re.findall(r"<pre>(.*?)</pre>", crate, re.DOTALL):
                yield f"{name} {version} in rust-std ({licence})", html.unescape(text)
    else:
        authors = ["The Rust Project Developers"]
        yield library, text_of_declaration({"name": "rust-std", "license": RUST_LICENCE, "authors": authors})

    if runtime.has_musl:
        yield f"musl in rust-std {runtime.version} (MIT)", MUSL_TEXT


def without_tags(page):
    """The text of a page, without empty lines."""
    lines = html.unescape(re.sub(r"<[^>]*>", "", page)).split("\n")
    return "\n".join(line.strip() for line in lines if line.strip())


def licences(linked):
    """The file LICENSE-DEPENDENCIES.txt: each text once, after what it belongs to."""
    notices = [
        (f"{package['name']} {package['version']} ({package['license'] or 'see the text'})", text)
        for package in linked.crates
        for text in licence_texts(package)
    ]
    holders = {}
    for line, text in [*notices, *runtime_notices(linked.runtime)]:
        names = holders.setdefault(normalised(text), [])
        if line not in names:
            names.append(line)

    parts = [
        f"{NAME} contains the following software of others, whose licences ask for these notices.\n",
        model_notice(),
    ]
    for text, names in sorted(holders.items(), key=lambda entry: entry[1]):
        parts.append("\n".join(names) + "\n\n" + text + "\n")
    return f"\n{'=' * 100}\n\n".join(parts).encode()


def model_notice():
    """The data of the built-in model, which is no crate."""
    sources = (ROOT / "crates/embed/models/sources.tsv").read_text(encoding="utf-8")
    return (
        "The embedding model codeweaver-v1 (MIT OR Apache-2.0)\n\n"
        "Its rows were initialised from the vectors of all-MiniLM-L6-v2 (Apache License 2.0) and trained on\n"
        "the histories of the public repositories below, each with the commit and the licence found there.\n"
        "The program contains numbers that were computed from them, and none of their text.\n\n" + sources
    )


def sbom(release, target, linked):
    """A CycloneDX 1.5 document. Its serial number follows from its contents, so that it is the same in every
    build."""
    own = purl_of(NAME, release.version)
    program = {
        "type": "application",
        "bom-ref": own,
        "name": NAME,
        "version": release.version,
        "purl": own,
        "licenses": [{"expression": release.licence}],
    }
    runtime = runtime_components(linked.runtime)
    components = [component(package) for package in linked.crates] + runtime
    edges = linked.edges | {own: linked.edges[own] | {part["bom-ref"] for part in runtime}}
    dependencies = [{"ref": purl, "dependsOn": sorted(uses)} for purl, uses in sorted(edges.items())]
    identity = json.dumps([program, target.triple, components, dependencies], sort_keys=True)

    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, identity)}",
        "version": 1,
        "metadata": {
            "component": program,
            "properties": [{"name": "cargo:target", "value": target.triple}],
        },
        "components": components,
        "dependencies": dependencies,
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def component(package):
    purl = purl_of(package["name"], package["version"])
    found = {
        "type": "library",
        "bom-ref": purl,
        "name": package["name"],
        "version": package["version"],
        "purl": purl,
    }
    if package["license"]:
        # Before SPDX expressions, a slash stood for a choice.
        found["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    if package["repository"]:
        found["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return found


def runtime_components(runtime):
    """The standard library, under the name by which vulnerabilities of Rust are known, and libc."""
    version = runtime.version
    library = {
        "type": "library",
        "bom-ref": f"rust-std@{version}",
        "name": "rust-std",
        "version": version,
        "cpe": f"cpe:2.3:a:rust-lang:rust:{version}:*:*:*:*:*:*:*",
        "licenses": [{"expression": RUST_LICENCE}],
        "externalReferences": [{"type": "vcs", "url": "https://github.com/rust-lang/rust"}],
    }
    # rustc does not say which version of musl it brings along.
    libc = {
        "type": "library",
        "bom-ref": "musl",
        "name": "musl",
        "licenses": [{"expression": "MIT"}],
        "externalReferences": [{"type": "website", "url": "https://musl.libc.org"}],
    }
    return [library, libc] if runtime.has_musl else [library]
