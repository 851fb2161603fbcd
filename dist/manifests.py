"""Files that name the artefacts of all platforms: made from those that are in the folder of the release.

The package of npm that people install depends on those of the platforms; Homebrew, scoop and winget have a
file with addresses and checksums; the registry of MCP servers has one with the names of packages. The package
of the extension for Visual Studio Code has no program, and is the same for all platforms."""

import hashlib
import json
import tarfile
import time

import vsix
from packages import SCOPE, archive_name, json_file, mcp_name, npm_package
from release import NAME, ROOT
from reproducible import File
from targets import TARGETS

# Made here, so not part of what it lists.
CHECKSUMS = "SHA256SUMS"


def write_all(release, out):
    """Writes the manifests into `out`, and the checksums of everything there. Nothing is in a folder, as the
    forge keeps files by name alone."""
    archives = {}
    for target in TARGETS.values():
        path = out / archive_name(release, target)
        if path.exists():
            archives[target.triple] = (path.name, hashlib.sha256(path.read_bytes()).hexdigest())

    npm_name, package = npm(release, out)
    (out / npm_name).write_bytes(package)
    vsix_name, extension = vsix.package(release)
    (out / vsix_name).write_bytes(extension)
    for name, text in texts(release, archives).items():
        (out / name).write_bytes(text.encode())

    lines = []
    for path in sorted(out.iterdir()):
        if path.name != CHECKSUMS:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            lines.append(f"{digest}  {path.name}\n")
    (out / CHECKSUMS).write_text("".join(lines))


def texts(release, archives):
    """Name → text of the manifests that the archives allow."""
    found = {
        "git-codeweaver.rb": homebrew(release, archives),
        "server.json": mcp_registry(release),
        "Dockerfile": (ROOT / "dist/Dockerfile")
        .read_text()
        .replace("ARG VERSION\n", f"ARG VERSION={release.version}\n"),
    }
    windows = {cpu: archives.get(f"{cpu}-pc-windows-msvc") for cpu in ("x86_64", "aarch64")}
    windows = {cpu: archive for cpu, archive in windows.items() if archive}
    if windows:
        found["scoop.json"] = scoop(release, windows)
        found |= winget(release, windows)
    return found


def npm(release, out):
    """The package `git-codeweaver` of npm: the launcher, pages and completions."""
    platforms = {}
    for target in TARGETS.values():
        if (out / f"{SCOPE[1:]}-{target.npm_name}-{release.version}.tgz").exists():
            platforms[f"{SCOPE}/{target.npm_name}"] = release.version
    documents = documents_of_archive(release, out)

    manifest = {
        "name": NAME,
        "version": release.version,
        "description": release.description,
        "keywords": release.keywords,
        "license": release.licence,
        "repository": {"type": "git", "url": f"git+{release.repository}.git"},
        "bin": {NAME: "launcher.js"},
        "man": sorted(path for path in documents if path.startswith("man/")),
        "engines": {"node": ">=18"},
        "optionalDependencies": dict(sorted(platforms.items())),
        # The registry of MCP servers asks for this line as the proof that the package is ours.
        "mcpName": mcp_name(release),
    }
    files = {
        "package.json": json_file(manifest),
        "launcher.js": File((ROOT / "dist/npm/launcher.js").read_bytes(), executable=True),
    }
    return f"{NAME}-{release.version}.tgz", npm_package(files | documents | release.texts, release)


def documents_of_archive(release, out):
    """Pages and completions, which are the same in all archives, from the first tar."""
    for target in TARGETS.values():
        path = out / archive_name(release, target)
        if path.exists() and not target.is_windows:
            with tarfile.open(path) as archive:
                prefix = f"{release.stem}-{target.triple}/"
                members = [
                    (member.name.removeprefix(prefix), member) for member in archive if member.isfile()
                ]
                return {
                    name: File(archive.extractfile(member).read())
                    for name, member in members
                    if name.startswith(("man/", "completions/"))
                }
    return {}


def homebrew(release, archives):
    """A formula for a tap."""
    lines = [
        "class GitCodeweaver < Formula",
        f'  desc "{release.description.rstrip(".")}"',
        f'  homepage "{release.repository}"',
        f'  version "{release.version}"',
        '  license any_of: ["MIT", "Apache-2.0"]',
        "",
    ]
    for system, suffix in (("macos", "apple-darwin"), ("linux", "unknown-linux-gnu")):
        choices = [
            (brew, archives.get(f"{cpu}-{suffix}")) for brew, cpu in (("arm", "aarch64"), ("intel", "x86_64"))
        ]
        choices = [(brew, archive) for brew, archive in choices if archive]
        if not choices:
            continue
        lines.append(f"  on_{system} do")
        for brew, (name, digest) in choices:
            lines += [
                f"    on_{brew} do",
                f'      url "{release.downloads}/{name}"',
                f'      sha256 "{digest}"',
                "    end",
            ]
        lines += ["  end", ""]
    lines += [
        "  def install",
        '    bin.install "git-codeweaver"',
        '    man1.install Dir["man/man1/*.1"]',
        '    bash_completion.install "completions/git-codeweaver.bash" => "git-codeweaver"',
        '    zsh_completion.install "completions/_git-codeweaver"',
        '    fish_completion.install "completions/git-codeweaver.fish"',
        "  end",
        "",
        "  test do",
        '    (testpath/"greet.py").write "def greet(name):\\n    return \'Hello \' + name\\n"',
        '    system "git", "init"',
        '    system "git", "add", "greet.py"',
        '    system "git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-m", "greet"',
        '    system bin/"git-codeweaver", "init"',
        '    assert_match "greet.py", shell_output("#{bin}/git-codeweaver search greet")',
        "  end",
        "end",
        "",
    ]
    return "\n".join(lines)


def scoop(release, windows):
    names = {"x86_64": "64bit", "aarch64": "arm64"}
    downloads = f"{release.repository}/releases/download/v$version"
    manifest = {
        "version": release.version,
        "description": release.description,
        "homepage": release.repository,
        "license": "MIT|Apache-2.0",
        "depends": "git",
        "architecture": {
            names[cpu]: {
                "url": f"{release.downloads}/{name}",
                "hash": digest,
                "extract_dir": name.removesuffix(".zip"),
            }
            for cpu, (name, digest) in windows.items()
        },
        "bin": "git-codeweaver.exe",
        "checkver": "github",
        "autoupdate": {
            "architecture": {
                names[cpu]: {
                    "url": f"{downloads}/{NAME}-$version-{cpu}-pc-windows-msvc.zip",
                    "extract_dir": f"{NAME}-$version-{cpu}-pc-windows-msvc",
                }
                for cpu in windows
            },
            "hash": {"url": "$baseurl/SHA256SUMS"},
        },
    }
    return json.dumps(manifest, indent=4) + "\n"


def winget(release, windows):
    """The three files that the repository of winget takes for a version."""
    identifier = "GitCodeweaver.GitCodeweaver"
    head = f"PackageIdentifier: {identifier}\nPackageVersion: {release.version}\n"
    day = time.strftime("%Y-%m-%d", time.gmtime(release.epoch))
    version = head + "DefaultLocale: en-US\nManifestType: version\nManifestVersion: 1.6.0\n"
    locale = (
        f"{head}PackageLocale: en-US\nPublisher: {NAME}\nPackageName: {NAME}\n"
        f"PackageUrl: {release.repository}\nLicense: {release.licence}\n"
        f'ShortDescription: "{release.description}"\nTags:\n'
        + "".join(f"- {word}\n" for word in release.keywords)
        + "ManifestType: defaultLocale\nManifestVersion: 1.6.0\n"
    )
    installer = (
        f"{head}ReleaseDate: {day}\nInstallerType: zip\nNestedInstallerType: portable\n"
        "Commands:\n- git-codeweaver\nDependencies:\n  PackageDependencies:\n"
        "  - PackageIdentifier: Git.Git\nInstallers:\n"
    )
    for cpu, (name, digest) in windows.items():
        folder = name.removesuffix(".zip")
        installer += (
            f"- Architecture: {'x64' if cpu == 'x86_64' else 'arm64'}\n"
            f"  InstallerUrl: {release.downloads}/{name}\n"
            f"  InstallerSha256: {digest.upper()}\n"
            f"  NestedInstallerFiles:\n  - RelativeFilePath: {folder}\\git-codeweaver.exe\n"
            "    PortableCommandAlias: git-codeweaver\n"
        )
    installer += "ManifestType: installer\nManifestVersion: 1.6.0\n"
    return {
        f"{identifier}.yaml": version,
        f"{identifier}.locale.en-US.yaml": locale,
        f"{identifier}.installer.yaml": installer,
    }


def mcp_registry(release):
    """The entry for the registry of MCP servers."""
    arguments = [{"type": "positional", "value": "mcp"}]
    common = {"identifier": NAME, "version": release.version, "transport": {"type": "stdio"}}
    entry = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": mcp_name(release),
        "description": release.description,
        "repository": {"url": release.repository, "source": "github"},
        "version": release.version,
        "packages": [
            {"registryType": "npm", "runtimeHint": "npx", **common, "packageArguments": arguments},
            {"registryType": "pypi", "runtimeHint": "uvx", **common, "packageArguments": arguments},
        ],
    }
    return json.dumps(entry, indent=2) + "\n"
