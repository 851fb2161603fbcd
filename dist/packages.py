"""The packages of one program: archive, wheel, package of npm for the platform, and .deb.

Each function takes a `Build` and returns the name of a file and its bytes.
"""

import base64
import email.utils
import hashlib
import json

import elf
from release import NAME
from reproducible import File, ar, gz, tar, xz, zipped

# The scope of the packages of npm that hold a program.
SCOPE = "@git-codeweaver"
MAINTAINER = f"The {NAME} developers <noreply@{NAME}.invalid>"


def archive_name(release, target):
    return f"{release.stem}-{target.triple}.{'zip' if target.is_windows else 'tar.xz'}"


def archive(build):
    """One directory with the program, its pages and completions: what binstall, Homebrew, scoop and winget
    unpack."""
    release, target = build.release, build.target
    contents = {target.program: build.program_file}
    contents |= build.documents.files() | release.texts | build.legal()
    files = {f"{release.stem}-{target.triple}/{path}": file for path, file in contents.items()}

    name = archive_name(release, target)
    if target.is_windows:
        return name, zipped(files, release.epoch)
    return name, xz(tar(files, release.epoch), target.is_x86)


def wheel(build):
    """A wheel as maturin makes it with `bindings = "bin"`: pip puts the program into `bin` of the
    environment."""
    release, target = build.release, build.target
    tag = f"py3-none-{target.wheel or elf.platform_tag(build.program, target.triple.split('-')[0])}"
    stem = f"{NAME.replace('-', '_')}-{release.version}"
    data, info = f"{stem}.data", f"{stem}.dist-info"

    files = {f"{data}/scripts/{target.program}": build.program_file}
    if not target.is_windows:
        # Where shells and `man` look, below the prefix of the environment or of `pip install --user`.
        places = unix_documents(build.documents)
        files |= {f"{data}/data/{path}": file for path, file in places.items()}
    for path, file in build.legal().items():
        folder = "sboms" if path.endswith(".cdx.json") else "licenses"
        files[f"{info}/{folder}/{path}"] = file
    files[f"{info}/METADATA"] = File(core_metadata(release))
    files[f"{info}/WHEEL"] = File(
        f"Wheel-Version: 1.0\nGenerator: git-codeweaver dist\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    files[f"{info}/RECORD"] = File(record(files, f"{info}/RECORD"))
    return f"{stem}-{tag}.whl", zipped(files, release.epoch)


def core_metadata(release):
    """The file METADATA of a wheel."""
    readme = release.texts["README.md"].contents.decode()
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {release.version}",
        f"Summary: {release.description}",
        f"Keywords: {','.join(release.keywords)}",
        f"License-Expression: {release.licence}",
        "License-File: LICENSE-APACHE",
        "License-File: LICENSE-DEPENDENCIES.txt",
        "License-File: LICENSE-MIT",
        f"Project-URL: Source Code, {release.repository}",
        f"Project-URL: Changelog, {release.repository}/blob/main/CHANGELOG.md",
        "Classifier: Environment :: Console",
        "Classifier: Programming Language :: Rust",
        "Classifier: Topic :: Software Development :: Version Control :: Git",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM",
    ]
    # The registry of MCP servers asks for this line as the proof that the package is ours.
    return "\n".join([*lines, "", readme, f"<!-- mcp-name: {mcp_name(release)} -->", ""]).encode()


def record(files, own_path):
    """The file RECORD of a wheel: hash and size of every other file."""
    lines = []
    for path, file in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.contents).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(file.contents)}\n")
    return "".join([*lines, f"{own_path},,\n"]).encode()


def mcp_name(release):
    """The name in the registry of MCP servers, whose first part stands for the owner on the forge."""
    owner = release.repository.split("/")[-2]
    return f"io.github.{owner}/{NAME}"


def unix_documents(documents, compressed_pages=False):
    """Pages and completions below a prefix such as /usr."""
    bash, zsh = documents.completions["git-codeweaver.bash"], documents.completions["_git-codeweaver"]
    found = {
        f"share/bash-completion/completions/{NAME}": File(bash),
        f"share/zsh/site-functions/_{NAME}": File(zsh),
        f"share/fish/vendor_completions.d/{NAME}.fish": File(documents.completions["git-codeweaver.fish"]),
    }
    for name, page in documents.pages.items():
        if compressed_pages:
            name, page = f"{name}.gz", gz(page)
        found[f"share/man/man1/{name}"] = File(page)
    return found


def npm_platform(build):
    """The package of npm that holds the program of one platform; npm installs the one whose os, cpu and libc
    fit."""
    release, target = build.release, build.target
    os, cpu, libc = target.npm
    manifest = {
        "name": f"{SCOPE}/{target.npm_name}",
        "version": release.version,
        "description": f"The program of {NAME} for {target.triple}",
        "license": release.licence,
        "repository": {"type": "git", "url": f"git+{release.repository}.git"},
        "os": [os],
        "cpu": [cpu],
    }
    if libc:
        manifest["libc"] = [libc]
    manifest["preferUnplugged"] = True

    files = {"package.json": json_file(manifest), target.program: build.program_file} | build.legal()
    name = f"{SCOPE[1:]}-{target.npm_name}-{release.version}.tgz"
    return name, npm_package(files, release)


def json_file(value):
    return File((json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def npm_package(files, release):
    return gz(tar({f"package/{path}": file for path, file in files.items()}, release.epoch))


def deb(build):
    """A package of Debian and its relatives."""
    release, target, documents = build.release, build.target, build.documents
    places = unix_documents(documents, compressed_pages=True)
    # Debian's zsh looks in another folder than that of programs installed by hand.
    places[f"share/zsh/vendor-completions/_{NAME}"] = places.pop(f"share/zsh/site-functions/_{NAME}")
    shared = f"share/doc/{NAME}"
    places |= {
        f"bin/{NAME}": build.program_file,
        f"{shared}/copyright": File(copyright_of(release).encode()),
        f"{shared}/LICENSE-DEPENDENCIES.txt.gz": File(gz(build.licences)),
        f"{shared}/changelog.gz": File(gz(debian_changelog(release).encode())),
        f"{shared}/CHANGELOG.md.gz": File(gz(release.texts["CHANGELOG.md"].contents)),
        f"{shared}/README.md": release.texts["README.md"],
        f"{shared}/sbom.cdx.json.gz": File(gz(build.sbom)),
    }
    files = {f"./usr/{path}": file for path, file in places.items()}

    installed_kib = sum(-(-len(file.contents) // 1024) for file in files.values())
    sums = "".join(
        f"{hashlib.md5(file.contents, usedforsecurity=False).hexdigest()}  {path[2:]}\n"
        for path, file in sorted(files.items())
    )
    control = {
        "./control": File(debian_control(build, installed_kib).encode()),
        "./md5sums": File(sums.encode()),
    }
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", xz(tar(control, release.epoch, with_directories=True), is_x86=False)),
        ("data.tar.xz", xz(tar(files, release.epoch, with_directories=True), target.is_x86)),
    ]
    return f"{NAME}_{release.version}_{target.deb}.deb", ar(members, release.epoch)


def debian_control(build, installed_kib):
    release = build.release
    # The oldest glibc that the program runs with; a static program has no version.
    version = elf.glibc_version(build.program)
    libraries = [f"libc6 (>= {version[0]}.{version[1]})"] if version else []
    if any(name.startswith("libgcc_s") for name in elf.needed_libraries(build.program)):
        libraries.append("libgcc-s1")
    fields = {
        "Package": NAME,
        "Version": release.version,
        "Section": "vcs",
        "Priority": "optional",
        "Architecture": build.target.deb,
        "Maintainer": MAINTAINER,
        "Installed-Size": installed_kib,
        "Depends": ", ".join(["git", *libraries]),
        "Homepage": release.repository,
        "Description": "search code by meaning, from an index that lives in git\n"
        " The index is built from the objects of a git repository and kept current by\n"
        " hooks on every commit and checkout. Searches, an MCP server for coding agents\n"
        " and a search page answer from it. Nothing leaves the machine.",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def debian_changelog(release):
    """The changelog in the form of Debian; people read the other one."""
    date = email.utils.formatdate(release.epoch)
    return (
        f"{NAME} ({release.version}) unstable; urgency=medium\n\n"
        f"  * Release {release.version}; see CHANGELOG.md.gz.\n\n -- {MAINTAINER}  {date}\n"
    )


def copyright_of(release):
    """The file that Debian's policy asks for: where the sources and the licences are."""
    return (
        f"{NAME} is from {release.repository}\n\n"
        "It is under MIT or Apache-2.0, at your choice. The text of the latter is in\n"
        "/usr/share/common-licenses/Apache-2.0. The licences of the crates in the program, and the sources\n"
        "of the data of its model, are in LICENSE-DEPENDENCIES.txt.gz beside this file.\n\n"
        + release.texts["LICENSE-MIT"].contents.decode()
    )
