"""Repositories of growing parts of a large one."""

import hashlib
import os
import shutil
from collections import defaultdict

from trees import git

# A directory that would exceed the wanted number of files by more than this share is left out.
TOLERANCE = 0.1


def choose(files, wanted):
    """Whole directories of `files`, in the order of a hash of their names, until there are about `wanted`."""
    by_directory = defaultdict(list)
    for file in files:
        by_directory[os.path.dirname(file)].append(file)
    chosen = []
    for directory in sorted(by_directory, key=lambda name: hashlib.sha256(name.encode()).digest()):
        if len(chosen) + len(by_directory[directory]) <= wanted * (1 + TOLERANCE):
            chosen += by_directory[directory]
        if len(chosen) >= wanted:
            break
    return sorted(chosen)


def make(source, folder, n_files):
    """A repository with one commit, of about so many files of `source`; that of an earlier run if there is
    one."""
    repository = folder / f"{source.name}-{n_files}"
    made = repository / ".git/codeweaver-bench-made"
    if made.exists():
        return repository
    shutil.rmtree(repository, ignore_errors=True)
    repository.mkdir(parents=True)
    git(repository, "init", "--quiet", "--initial-branch=main")
    objects = git(source, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    (repository / ".git/objects/info/alternates").write_text(objects)
    entries = [entry.split("\t", 1) for entry in git(source, "ls-tree", "-r", "-z", "HEAD").split("\0")[:-1]]
    # Submodules have no content of their own.
    files = [path for about, path in entries if not about.startswith("160000")]
    for path in choose(files, n_files):
        target = repository / path
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(source / path, target, follow_symlinks=False)
    git(repository, "add", "--all", "--force", ".")
    git(repository, "commit", "--quiet", "--message", f"{n_files} files")
    made.write_text(git(repository, "rev-parse", "HEAD"))
    return repository
