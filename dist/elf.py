"""What a program for Linux needs of the system: libraries and the newest version of glibc, read by
`readelf`."""

import re
import subprocess

# Libraries that PEP 600 lets a wheel expect of every system; others would have to be bundled.
EXPECTED = re.compile(r"(libc|libm|libdl|libpthread|librt|libutil|libgcc_s|ld-linux[-a-z0-9_]*)\.so\.\d+")
# Versions that are no numbers, and the first glibc that has them.
NAMED_VERSIONS = {"GLIBC_ABI_DT_RELR": (2, 36)}


class NotPortable(Exception):
    """The program needs something that no platform tag promises."""


def readelf(*arguments):
    return subprocess.run(["readelf", *arguments], check=True, capture_output=True, text=True).stdout


def needed_libraries(program):
    """The names of shared libraries that the program is linked with, in its order."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", "--wide", program))


def glibc_version(program):
    """The newest version of glibc that a symbol of the program asks for, as (major, minor); None if
    static."""
    # Only the table of needs: a program may define versions of its own.
    _, _, needs = readelf("--version-info", "--wide", program).partition("Version needs section")
    names = set(re.findall(r"Name: (GLIBC_\w[\w.]*)", needs))

    versions = []
    for name in names:
        if name in NAMED_VERSIONS:
            versions.append(NAMED_VERSIONS[name])
        elif numbers := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", name):
            versions.append((int(numbers[1]), int(numbers[2])))
        else:
            raise NotPortable(f"{program} needs {name}, which no version of glibc promises")
    return max(versions, default=None)


def platform_tag(program, cpu):
    """The platform tag of PEP 600 that says what the program needs, for example `manylinux_2_34_x86_64`."""
    foreign = [name for name in needed_libraries(program) if not EXPECTED.fullmatch(name)]
    if foreign:
        raise NotPortable(f"{program} needs {', '.join(foreign)}, which not every system has")

    # Before 2.5 there is no tag; all systems since 2007 are newer.
    major, minor = max(glibc_version(program) or (2, 5), (2, 5))
    return f"manylinux_{major}_{minor}_{cpu}"
