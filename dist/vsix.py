"""The package of the extension for Visual Studio Code: a zip as `vsce package` makes it, for
`code --install-extension` and the marketplaces.

Its manifest states for the marketplaces what `package.json` states for the editor."""

import json
from xml.sax.saxutils import escape, quoteattr

from release import ROOT
from reproducible import File, zipped

FOLDER = ROOT / "editors/vscode"
CODE = "Microsoft.VisualStudio.Code"
SERVICES = "Microsoft.VisualStudio.Services"
CONTENT_TYPES = {
    ".json": "application/json",
    ".js": "application/javascript",
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}


def package(release):
    """The name of the package and its bytes."""
    about = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))

    files = {name: File((FOLDER / name).read_bytes()) for name in ["package.json", *about["files"]]}
    files["LICENSE.txt"] = File(
        b"MIT or Apache-2.0, at your choice.\n\n"
        + release.texts["LICENSE-MIT"].contents
        + b"\n"
        + release.texts["LICENSE-APACHE"].contents
    )
    parts = {f"extension/{name}": file for name, file in files.items()}
    parts["extension.vsixmanifest"] = File(manifest(about).encode())
    parts["[Content_Types].xml"] = File(content_types().encode())
    return f"{about['name']}-{about['version']}.vsix", zipped(parts, release.epoch)


def manifest(about):
    source = about["repository"]["url"]
    properties = {
        f"{CODE}.Engine": about["engines"]["vscode"],
        f"{CODE}.ExtensionKind": "workspace",
        f"{CODE}.ExecutesCode": "true",
        f"{SERVICES}.Links.Source": source,
        f"{SERVICES}.Links.GitHub": source,
        f"{SERVICES}.GitHubFlavoredMarkdown": "true",
        f"{SERVICES}.Content.Pricing": "Free",
    }
    assets = {
        f"{CODE}.Manifest": "package.json",
        f"{SERVICES}.Content.Details": "README.md",
        f"{SERVICES}.Content.License": "LICENSE.txt",
    }
    identity = {
        "Language": "en-US",
        "Id": about["name"],
        "Version": about["version"],
        "Publisher": about["publisher"],
    }

    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">',
        "  <Metadata>",
        f"    {element('Identity', identity)}",
        f"    <DisplayName>{escape(about['displayName'])}</DisplayName>",
        f'    <Description xml:space="preserve">{escape(about["description"])}</Description>',
        f"    <Tags>{escape(','.join(about['keywords']))}</Tags>",
        f"    <Categories>{escape(','.join(about['categories']))}</Categories>",
        "    <GalleryFlags>Public</GalleryFlags>",
        "    <Properties>",
        *[f"      {element('Property', {'Id': name, 'Value': value})}" for name, value in properties.items()],
        "    </Properties>",
        "    <License>extension/LICENSE.txt</License>",
        "  </Metadata>",
        f"  <Installation>{element('InstallationTarget', {'Id': CODE})}</Installation>",
        "  <Dependencies/>",
        "  <Assets>",
        *[f"    {asset(kind, name)}" for kind, name in assets.items()],
        "  </Assets>",
        "</PackageManifest>",
    ]
    return "\n".join(lines) + "\n"


def asset(kind, name):
    return element("Asset", {"Type": kind, "Path": f"extension/{name}", "Addressable": "true"})


def element(name, attributes):
    return f"<{name} {' '.join(f'{key}={quoteattr(value)}' for key, value in attributes.items())}/>"


def content_types():
    """The part of the package that states the type of every other."""
    types = [element("Default", {"Extension": e, "ContentType": kind}) for e, kind in CONTENT_TYPES.items()]
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f"{''.join(types)}</Types>\n"
    )
