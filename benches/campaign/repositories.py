"""Hostile repositories: functions that make one of a harmless one, whose index is built already.

Each takes the world and a factor of sizes, which is 1 in the long form, and returns the file, the symbol and the word
that are then asked about.
"""

import os
import zlib

FILE, SYMBOL, WORD = "src/parse.rs", "parse_header", "header"
HARMLESS = {
    FILE: '/// Parses the header of a message.\npub fn parse_header(text: &str) -> Header { split(text, ": ") }\n',
    "src/retry.py": "def retry_with_backoff(call):\n    return parse_header(call)\n",
    "README.md": "# Messages\n\nThe header of a message is parsed by `parse_header`.\n",
}
SECRET = "the_secret_outside_of_it_all"
# Bytes that a header claims without having them.
CLAIMED = 64 << 30
# Code points that act on a terminal, or that hide or reorder text: first and last of each range.
HIDDEN = [
    (0x00, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
]
FEW = "\u061c\u200b\u202e\u2066\x9b\x85\U000e0041\ufeff\xad\x1b\x7f\u2028"
ASKED = (FILE, SYMBOL, WORD)


def bush(world, scale):
    """A tree with the same directories in 10^7 places, or in 10^40."""
    blob = world.git("rev-parse", f"HEAD:{FILE}")
    tree = world.tree(f"100644 blob {blob}\tn{n}.rs\n" for n in range(10))
    for _ in range(world.rng.choice([6, 40])):
        tree = world.tree(f"040000 tree {tree}\tn{n}.rs\n" for n in range(10))
    world.commit_entries(f"040000 tree {tree}\tbush\n")
    return ASKED


def lying_headers(world, scale):
    """A blob and a commit whose headers claim 64 GiB."""
    blob, commit = liar(world, "a", "blob"), liar(world, "c", "commit")
    world.commit_entries(f"100644 blob {blob}\tliar.rs\n160000 commit {commit}\tsub\n")
    (world.repo / ".git/refs/heads/liar").write_text(f"{commit}\n")
    return "liar.rs", SYMBOL, WORD


def lying_directory(world, scale):
    """A directory whose header claims 64 GiB, so that the list of files cannot be read."""
    world.commit_entries(f"040000 tree {liar(world, 'b', 'tree')}\tliars\n")
    return ASKED


def liar(world, digit, kind):
    """Writes a loose object that claims to be large. Its name is one digit."""
    path = world.repo / ".git/objects" / (digit * 2) / (digit * 38)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(f"{kind} {CLAIMED}\0some bytes".encode()))
    return digit * 40


def long_line(world, scale):
    """A line of 300 MB, and a file of as many lines of one letter."""
    size = int(300e6 * scale)
    repeat(world.repo / "long.txt", b"header ", size)
    repeat(world.repo / "many.txt", b"x\n", size // 10)
    world.git("config", "core.compression", "1")
    world.commit("long")
    return "long.txt", SYMBOL, WORD


def repeat(path, part, size):
    """Writes a file in pieces: the peak of this process counts as that of those it starts."""
    piece = part * ((1 << 20) // len(part))
    with open(path, "wb") as file:
        for _ in range(size // len(piece) + 1):
            file.write(piece)


def zeros(world, scale):
    """A gigabyte of zeros, which is an object of a megabyte."""
    with open(world.repo / "zeros.rs", "wb") as file:
        file.truncate(int(1e9 * scale))
    world.git("config", "core.compression", "1")
    world.git("config", "core.bigFileThreshold", "4g")
    world.commit("zeros")
    return "zeros.rs", SYMBOL, WORD


def deep_nesting(world, scale):
    """Files nested thousands deep, in several languages, committed and not."""
    depth = int(20_000 * scale)
    ruby = "def deep_method(x)\n" + "".join(f"if x{n}\n deep_method(x{n})\n" for n in range(depth))
    (world.repo / "src/deep.rb").write_text(ruby + "end\n" * (depth + 1))
    (world.repo / "src/deep.py").write_text(f"def deep():\n    return {'(' * depth}{')' * depth}\n")
    (world.repo / "src/deep.rs").write_text("fn deep() " + "{" * depth + "}" * depth + "\n")
    world.commit("deep")
    (world.repo / "src/dirty.rb").write_text(ruby.replace("deep_method", "dirty_method") + "end\n" * (depth + 1))
    (world.repo / "page.html").write_text("<div>\n" * (depth * 5) + WORD)
    return "src/deep.rb", "deep_method", WORD


def worktree_elsewhere(world, scale):
    """`core.worktree` names a directory outside."""
    world.git("config", "core.worktree", str(world.outside))
    return "secret.rs", SECRET, SECRET


def no_files(world, scale):
    """Pipes, devices, directories and links in place of files of the repository, of settings and of the store."""
    for name in ("src/retry.py", ".gitignore", "codeweaver.toml", ".codeweaver/nonce"):
        path = world.repo / name
        path.unlink(missing_ok=True)
        world.rng.choice([os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])(path)
    (world.repo / "src/link.rs").symlink_to(world.outside / "secret.rs")
    (world.repo / "src/up").symlink_to(world.outside)
    return "src/link.rs", SECRET, SECRET


def hidden_characters(world, scale):
    """Every hidden character in code, and some in names of files, definitions, headings, branches and commits."""
    code = [f'/// Parses the header {FEW}.\npub fn parse_header(text: &str) {{ split("{FEW}"); }} // {FEW}\n\n']
    hidden = [chr(c) for first, last in HIDDEN for c in range(first, last + 1) if c not in (0, 10)]
    for n, at in enumerate(range(0, len(hidden), 64)):
        part = "".join(hidden[at : at + 64])
        code.append(f'/// Keeps the header {part} {n}.\npub fn keep_header_{n}() {{ println!("header {part}"); }}\n\n')
    names = [f"src/na{FEW}\nforged line.{ending}" for ending in ("rs", "md")]
    (world.repo / names[0]).write_text("".join(code))
    (world.repo / names[1]).write_text(f"# The header {FEW} manual\n\nA header {FEW} is parsed by `parse_header`.\n")
    world.commit(f"Parse the {FEW} header")
    with open(world.repo / names[0], "a") as file:
        file.write(f"// more {FEW}\n")
    (world.repo / f"src/new{FEW}\nforged line.txt").write_text(f"The header {FEW}\n")
    return names[0], SYMBOL, WORD


def wide_directory(world, scale):
    """A directory of 100,000 files of which none is in the working tree."""
    blob = world.git("rev-parse", f"HEAD:{FILE}")
    tree = world.tree(f"100644 blob {blob}\tf{n:06}.rs\n" for n in range(int(1e5 * scale)))
    world.commit_entries(f"040000 tree {tree}\twide\n")
    return "wide/f000001.rs", SYMBOL, WORD


def many_moves(world, scale):
    """32,000 files, of which half are moved and half are deleted, and an HTML file of half a megabyte."""
    n_files = int(32_000 * scale)
    (world.repo / "many").mkdir()
    for n in range(n_files):
        (world.repo / f"many/f{n:05}.py").write_text(f"def header_{n}():\n    return {n}\n")
    world.commit("many")
    (world.repo / "moved").mkdir()
    for n in range(n_files):
        old = world.repo / f"many/f{n:05}.py"
        old.rename(world.repo / f"moved/g{n:05}.py") if n % 2 else old.unlink()
    (world.repo / "page.html").write_text("<p class=header>text</p>\n" * 20_000)
    return "moved/g00001.py", "header_1", WORD


def broken_history(world, scale):
    """Commits whose parents and trees are absent, and one without an author."""
    absent = "d" * 40
    tree = world.git("rev-parse", "HEAD^{tree}")
    person = "A <a@example.com> 1 +0000"
    for lines in (
        f"tree {tree}\nparent {absent}\nauthor {person}\ncommitter {person}\n\nabsent parent\n",
        f"tree {absent}\nparent HEAD\nauthor {person}\ncommitter {person}\n\nabsent tree\n",
        f"tree {tree}\nparent HEAD\n\nno author\n",
        f"tree {tree}\nparent HEAD\nauthor {person}\ncommitter {person}\n\n{FEW}\n",
    ):
        text = lines.replace("HEAD", world.head())
        commit = world.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", text=text)
        (world.repo / ".git/refs/heads/main").write_text(f"{commit}\n")
    return ASKED


def commands_in_settings(world, scale):
    """Everything of git's configuration that names a command."""
    evil = world.root / "evil"
    evil.write_text(f"#!/bin/sh\ntouch '{world.canary}'\ncat 2>/dev/null\n")
    evil.chmod(0o755)
    hooks = world.repo / "evilhooks"
    hooks.mkdir()
    for hook in ("post-commit", "post-checkout", "post-index-change", "reference-transaction"):
        (hooks / hook).symlink_to(evil)
    (world.repo / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    world.commit("attributes")
    (world.repo / FILE).write_text(HARMLESS[FILE] + "// changed\n")
    settings = ["core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "diff.external", "diff.evil.textconv"]
    settings += ["filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "merge.evil.driver", "gpg.program"]
    settings += ["core.alternateRefsCommand", "credential.helper", "uploadpack.packObjectsHook", "pager.config"]
    for setting in settings:
        world.git("config", setting, str(evil))
    world.git("config", "core.hooksPath", "evilhooks")
    world.git("config", "remote.origin.url", f"ext::{evil}")
    world.git("config", "remote.origin.promisor", "true")
    return ASKED


def long_names(world, scale):
    """Names of thousands of characters in requests, and the deepest directory that there can be."""
    place = world.repo
    while len(os.fsencode(place)) + 60 < 4000:
        place /= "é" * 20
    place.mkdir(parents=True)
    (place / "f.py").write_text("def header_below():\n    return 1\n")
    world.commit("deep directory")
    return "é" * 3000, "é" * 3000, "é" * 3000


REPOSITORIES = [
    bush,
    lying_headers,
    lying_directory,
    long_line,
    zeros,
    deep_nesting,
    worktree_elsewhere,
    no_files,
    hidden_characters,
    wide_directory,
    many_moves,
    broken_history,
    commands_in_settings,
    long_names,
]
# The reason that may be given instead of an answer.
REFUSED = {lying_directory: "cannot be read", bush: "has the same directories in too many places"}
