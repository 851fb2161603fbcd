"""Archives whose bytes depend on their contents alone: members sorted, one time, no owners, two modes."""

import gzip
import io
import lzma
import tarfile
import time
import zipfile
from dataclasses import dataclass

# The tar, zip and deb of a release hold the same files; only their folders differ.
Files = dict  # path with slashes → File


@dataclass(frozen=True)
class File:
    contents: bytes
    executable: bool = False

    @property
    def mode(self):
        return 0o755 if self.executable else 0o644


def tar(files, epoch, with_directories=False):
    """An uncompressed tar in the format of POSIX 1988, which every unpacker reads. Directories have members
    of their own on request: dpkg removes those that a package names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        if with_directories:
            for path in directories(files):
                add(archive, path, tarfile.DIRTYPE, 0o755, b"", epoch)
        for path, file in sorted(files.items()):
            add(archive, path, tarfile.REGTYPE, file.mode, file.contents, epoch)
    return buffer.getvalue()


def directories(files):
    """The directories of paths, each after those above it."""
    found = set()
    for path in files:
        parts = path.split("/")[:-1]
        found.update("/".join(parts[:length]) + "/" for length in range(1, len(parts) + 1))
    return sorted(found)


def add(archive, path, kind, mode, contents, epoch):
    member = tarfile.TarInfo(path)
    member.type, member.mode, member.mtime, member.size = kind, mode, epoch, len(contents)
    member.uname = member.gname = "root"
    archive.addfile(member, io.BytesIO(contents))


def xz(data, is_x86):
    """Compressed for size: calls of x86-64 become absolute first, which makes programs 3 to 5 % smaller and
    needs nothing but xz to undo. One thread, since the number of threads would show in the bytes."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    if is_x86:
        filters.insert(0, {"id": lzma.FILTER_X86})
    return lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, filters=filters)


def gz(data):
    return gzip.compress(data, compresslevel=9, mtime=0)


def zipped(files, epoch):
    """A zip with deflate, which is the only method that pip and Windows read."""
    # Times of zip have two seconds of resolution and no zone; none is before 1980.
    stamp = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, file in sorted(files.items()):
            member = zipfile.ZipInfo(path, stamp)
            member.create_system = 3  # Unix, on Windows too, so that modes are kept
            member.external_attr = (0o100000 | file.mode) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, file.contents, compresslevel=9)
    return buffer.getvalue()


def ar(members, epoch):
    """The archive format of `ar`, which a .deb is: (name, bytes) in their order."""
    parts = [b"!<arch>\n"]
    for name, contents in members:
        header = f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(contents):<10}`\n"
        parts += [header.encode(), contents, b"\n" if len(contents) % 2 else b""]
    return b"".join(parts)
