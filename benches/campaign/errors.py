"""Errors: a writing step fails in builds with debug assertions, a system call fails where strace may trace."""

import shutil
import subprocess

from work import WORK, Site, Tries

SHORT, SECONDS, LONG = 60, 15, 1000
# Number of writing steps among which an injected error is placed.
STEPS = 60
FAULTS = ["abort", "io", "full", "stale", "lost"]
# Number of calls of one kind among which an error is placed, most of them near the begin.
CALLS = 400
# System calls, and the errors that they are given.
FAILING = {
    "openat": ["EIO", "EACCES", "EMFILE", "ENOSPC", "ESTALE"],
    "read": ["EIO", "ESTALE"],
    "pread64": ["EIO", "ESTALE"],
    "write": ["EIO", "ENOSPC", "EDQUOT"],
    "pwrite64": ["EIO", "ENOSPC", "EDQUOT"],
    "rename,renameat,renameat2": ["EIO", "EACCES", "ENOSPC", "EROFS"],
    "fsync,fdatasync": ["EIO", "EACCES", "EINTR", "ENOSPC"],
    "mkdir,mkdirat": ["EIO", "EACCES", "ENOSPC"],
    "unlink,unlinkat": ["EIO", "EACCES", "EROFS"],
    "ftruncate": ["EIO", "ENOSPC"],
    "getdents64": ["EIO"],
    "flock": ["ENOLCK", "EINTR"],
    "link,linkat": ["EACCES", "EPERM"],
    "newfstatat,statx": ["EIO", "EACCES"],
}


def campaign(run, works):
    ways = [way for way, has in [("a fault", has_faults()), ("a failing call", has_strace())] if has]
    if not ways:
        run.skipped = "the program has no debug assertions, and strace cannot trace"
        return
    run.figures["ways"] = " and ".join(ways)
    tries = Tries(run)

    def fail(site, done):
        name, way = run.rng.choice(works), run.rng.choice(ways)
        before, fault = (), None
        if way == "a fault":
            fault = f"{run.rng.choice(FAULTS)}:{run.rng.randint(1, STEPS)}"
        else:
            before = failing_call(run.rng, site.root)
        done.append(f"{name} with {fault or ' '.join(before[-1:])}")
        site.change()
        site.disturbed(WORK[name], before=before, fault=fault)
        WORK[name].after(site)
        return True

    while run.goes_on():
        tries.attempt(fail)
    tries.end()


def failing_call(rng, root):
    """The command line that runs a program of which a system call fails, once or from then on."""
    calls = rng.choice(list(FAILING))
    number = int(CALLS ** rng.random())
    for_ever = rng.choice(["", "+"])
    error = rng.choice(FAILING[calls])
    inject = f"inject={calls}:error={error}:when={number}{for_ever}"
    # Of pipes no read fails, and the standard library relies on that.
    files = [path for path in root.rglob("*") if path.is_file()] if "read" in calls else []
    only = [word for path in files for word in ("-P", str(path))]
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", *only, "-e", inject]


def has_strace():
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True).returncode == 0


def has_faults():
    """Whether the program dies at its first writing step if it is told so."""
    site = Site()
    died = subprocess.run(**site.command(["index", "--reindex"], fault="abort:1"), capture_output=True).returncode < 0
    site.remove()
    return died
