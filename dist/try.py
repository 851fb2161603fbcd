#!/usr/bin/env python3
"""Installs each artefact as a user would, and times its first search.

    python3 dist/try.py OUT                   each in a bare root of Debian; as root, with debootstrap
    python3 dist/try.py OUT --here            each below a temporary directory of this machine, for CI
    python3 dist/try.py OUT --only deb npx    some of: archive deb pip uvx npx mcp

OUT is a folder that `dist/build.py` has filled. A bare root has git, and what the way of installing needs by
itself (pip, uv, Node and npm); these are put there before the clock starts. Each installation gets a fresh
copy of its root, a home directory without a cache, and a clone of this repository, in which one shell command
installs, indexes and searches. `mcp` asks the server that `npx git-codeweaver mcp` starts for its tools. pip,
uv and npm get the artefacts from a registry on this machine (`registry.py`) and reach no other.

Prints a row for each: seconds to install, to the end of the first index, and to the end of the first search.
Exits with 1 if one failed. Roots are kept in target/dist-roots."""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from registry import Registry
from release import ROOT, Release
from targets import TARGETS

ROOTS = ROOT / "target/dist-roots"
SUITE = "bookworm"
# The question of the README, and the file of the function that it is about.
QUESTION = re.search(
    r'^git codeweaver search "(.*)"$', (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
)[1]
EXPECTED = "1. crates/text/src/printable.rs:"
HANDSHAKE = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"clientInfo":{"name":"try","version":"1"}}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
)


@dataclass(frozen=True)
class Way:
    """A way of installing: shell commands that install and that call the program. `{dist}` is the folder of
    the artefacts, `{registry}` the address of the registry, `{place}` an empty directory, and so on."""

    install: str
    call: str
    needs: str = "plain"


WAYS = {
    "archive": Way(
        "tar --extract --xz --strip-components=1 --directory {place} --file {dist}/{stem}-{triple}.tar.xz",
        "{place}/git-codeweaver",
    ),
    "deb": Way("{install_deb}", "{deb_prefix}git-codeweaver"),
    "pip": Way(
        "python3 -m venv {place} && {place}/bin/pip install --quiet --disable-pip-version-check"
        " --index-url {registry}/simple/ git-codeweaver",
        "{place}/bin/git-codeweaver",
        needs="python",
    ),
    "uvx": Way("true", "uvx --quiet --default-index {registry}/simple/ git-codeweaver", needs="python"),
    "npx": Way("true", "npx --yes --registry {registry} git-codeweaver", needs="node"),
    "mcp": Way("true", "npx --yes --registry {registry} git-codeweaver", needs="node"),
}


def script(name, way, values):
    """The one command, with the clock after each of its steps. The last line of its stdout has the times."""
    call = way.call.format(**values)
    if name == "mcp":
        first, second = "true", f"printf '%s' '{HANDSHAKE}' | {call} mcp"
    else:
        first, second = f"{call} init", f'{call} search "{QUESTION}"'
    return (
        "set -eu; a=$(date +%s%N)\n"
        f"{way.install.format(**values)} >&2; b=$(date +%s%N)\n"
        f"cd {values['repository']}; {first} >&2; c=$(date +%s%N)\n"
        f"{second}; d=$(date +%s%N)\n"
        "echo $a $b $c $d\n"
    )


def clone(place):
    """A clone of this repository that shares nothing with it."""
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", place], check=True)


def report(name, done):
    """Prints the row of one way. Returns whether it worked."""
    lines = done.stdout.strip().splitlines()
    wanted = '"tools"' if name == "mcp" else EXPECTED
    if done.returncode != 0 or not any(wanted in line for line in lines[:-1]):
        print(f"{name:8} failed, exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return False
    a, b, c, d = map(int, lines[-1].split())
    install, index, search, total = ((end - start) / 1e9 for start, end in ((a, b), (b, c), (c, d), (a, d)))
    print(f"{name:8} {install:8.1f} {index:8.1f} {search:8.1f} {total:8.1f}")
    return True


def values_of(release, triple, registry, **places):
    return {"stem": release.stem, "triple": triple, "registry": registry, **places}


# On this machine.


def try_here(name, way, release, triple, out, registry):
    """Installs below a temporary directory. A .deb is unpacked, not installed."""
    with tempfile.TemporaryDirectory() as folder:
        home, place, repository = (Path(folder) / part for part in ("home", "place", "repository"))
        home.mkdir()
        place.mkdir()
        clone(repository)
        deb = out / f"git-codeweaver_{release.version}_{TARGETS[triple].deb}.deb"
        values = values_of(
            release,
            triple,
            registry,
            dist=out,
            place=place,
            repository=repository,
            install_deb=f"dpkg-deb --extract {deb} {place}",
            deb_prefix=f"{place}/usr/bin/",
        )
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": folder,
            "PIP_CONFIG_FILE": os.devnull,
            "UV_NO_CONFIG": "1",
        }
        command = ["sh", "-c", script(name, way, values)]
        return report(name, subprocess.run(command, capture_output=True, text=True, env=environment))


def missing_here(name):
    """The program that a way of installing needs and this machine lacks."""
    program = {"uvx": "uvx", "npx": "npx", "mcp": "npx", "deb": "dpkg-deb", "pip": "python3"}.get(name, "tar")
    return None if shutil.which(program) else program


# In a bare root.


def make_root(needs):
    """The root for ways that need `plain`, `python` or `node`, made once."""
    root = ROOTS / f"{SUITE}-{needs}"
    if (root / "ready").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    if needs == "plain":
        ROOTS.mkdir(parents=True, exist_ok=True)
        bootstrap(root)
    else:
        # Not shutil, which would read the devices of the root to their end.
        subprocess.run(["cp", "--archive", "--reflink=auto", make_root("plain"), root], check=True)
        (root / "ready").unlink()
        {"python": add_python, "node": add_node}[needs](root)
    (root / "ready").touch()
    return root


def bootstrap(root):
    """A minimal Debian with git, from the mirror that this machine uses."""
    mirror = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()[0]
    packages = "--include=git,ca-certificates,xz-utils"
    subprocess.run(
        ["debootstrap", "--variant=minbase", packages, SUITE, root, mirror], check=True, stdout=sys.stderr
    )


# Ends a shell script that has mounted a root at $root.
ENTER = (
    "mount -t proc proc $root/proc && mount --rbind /dev $root/dev && "
    'exec chroot $root /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin:/usr/sbin:/sbin sh -c "$1"'
)


def inside(prepare, command, **options):
    """Runs a shell command in the root that a script prepares, in namespaces of its own that end with it."""
    unshare = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", f"{prepare} && {ENTER}", "sh", command]
    return subprocess.run(unshare, text=True, **options)


def install_packages(root, *packages):
    """Debian's packages, with the settings of apt of this machine."""
    (root / "etc/apt/sources.list").unlink(missing_ok=True)
    shutil.copytree("/etc/apt", root / "etc/apt", dirs_exist_ok=True, symlinks=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    install = f"apt-get update -qq && apt-get install -qq -y --no-install-recommends {' '.join(packages)}"
    inside(f"root={root}", install, check=True, stdout=sys.stderr)


def add_python(root):
    install_packages(root, "python3-venv")
    # uv is a single program in a wheel.
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "uv"], check=True
        )
        for name in ("uv", "uvx"):
            shutil.copy(Path(folder) / "bin" / name, root / "usr/bin" / name)


def add_node(root):
    install_packages(root, "nodejs")
    # Debian splits npm into hundreds of packages; its own archive has everything.
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", "npm@10"], check=True, cwd=folder, stdout=sys.stderr)
        place = root / "usr/lib/node_modules/npm"
        place.mkdir(parents=True)
        archive = next(Path(folder).glob("*.tgz"))
        subprocess.run(["tar", "-xzf", archive, "-C", place, "--strip-components=1"], check=True)
    for name in ("npm", "npx"):
        (root / "usr/bin" / name).symlink_to(f"../lib/node_modules/npm/bin/{name}-cli.js")


def try_in_root(name, way, release, triple, out, registry):
    """Installs in a root that is thrown away: a layer in memory over the one that is kept."""
    root = make_root(way.needs)
    deb = f"/dist/git-codeweaver_{release.version}_{TARGETS[triple].deb}.deb"
    values = values_of(
        release,
        triple,
        registry,
        dist="/dist",
        place="/opt/place",
        repository="/root/repository",
        install_deb=f"apt-get install -qq -y {deb}",
        deb_prefix="",
    )
    with tempfile.TemporaryDirectory() as folder:
        clone(Path(folder) / "repository")
        prepare = (
            f"cd {folder} && mkdir layer root && root={folder}/root && "
            "mount -t tmpfs none layer && mkdir layer/upper layer/work && mount -t overlay none root "
            f"-o lowerdir={root},upperdir={folder}/layer/upper,workdir={folder}/layer/work && "
            "mkdir root/dist root/opt/place && cp -a repository root/root/ && chown -R 0:0 root/root && "
            f"mount --bind -o ro {out} root/dist"
        )
        done = inside(prepare, script(name, way, values), capture_output=True)
    return report(name, done)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", metavar="OUT", type=Path)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS), metavar="WAY")
    parser.add_argument(
        "--target", default=f"{platform.machine()}-unknown-linux-gnu", choices=TARGETS, metavar="TARGET"
    )
    options = parser.parse_args()

    out, release, works = options.out.resolve(), Release(), True
    attempt = try_here if options.here else try_in_root
    with Registry(out) as registry:
        print(f"{'':8} {'install':>8} {'index':>8} {'search':>8} {'total':>8}  seconds")
        for name in options.only:
            missing = options.here and missing_here(name)
            if missing:
                print(f"{name:8} skipped: {missing} is missing")
                continue
            works &= attempt(name, WAYS[name], release, options.target, out, registry.address)
    sys.exit(not works)


if __name__ == "__main__":
    main()
