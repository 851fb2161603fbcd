"""Programs from package registries, each in a directory of its own below the cache."""

import os
import shutil
import subprocess
import sys

from measure import Failed


def call(command, what, **options):
    """Runs an installer; its last line of stderr is the reason of a failure."""
    try:
        done = subprocess.run(
            list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, **options
        )
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        errors = [line for line in said if "error" in line.lower()] or said
        raise Failed(
            f"{what}: {errors[-1] if errors else f'exit code {done.returncode}'}", "\n".join(said[-20:])
        )
    return done.stdout


def python_packages(directory, packages):
    """A virtual environment with packages of PyPI; returns its `bin`."""
    bin_dir = directory / "bin"
    stamp = directory / "installed"
    wanted = "\n".join(packages)
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(directory, ignore_errors=True)
        call([sys.executable, "-m", "venv", directory], "venv")
        install = [bin_dir / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        call([*install, *packages], "pip install")
        stamp.write_text(wanted)
    return bin_dir


def crate(directory, package, version, program, options=()):
    """A program of crates.io; returns its path. `CARGO` is the cargo to use."""
    path = directory / f"{package}-{version}" / "bin" / program
    if not path.exists():
        cargo = os.environ.get("CARGO", "cargo")
        where = ["--root", path.parents[1], "--target-dir", directory / "build" / package]
        call([cargo, "install", "--locked", *where, *options, f"{package}@{version}"], "cargo install")
    return path


def debian(directory, package, program):
    """A program of Debian, in the version of the distribution: installed, or unpacked into the cache. Returns
    its path and version."""
    installed = shutil.which(program)
    if installed:
        version = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True
        )
        return installed, version.stdout or "version unknown"
    place = directory / package
    path = place / "usr/bin" / program
    if not path.exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        call(["apt-get", "download", "--quiet", package], "apt-get download", cwd=place)
        for archive in place.glob("*.deb"):
            call(["dpkg-deb", "--extract", archive, place], "dpkg-deb")
    version = call(["dpkg-deb", "--field", next(place.glob("*.deb")), "Version"], "dpkg-deb").strip()
    return path, version
