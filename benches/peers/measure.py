"""What a process takes: time, CPU time, peak memory, disk use; and the same of several runs."""

import fcntl
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# Seconds after which a measurement is not repeated, and after which it lets go of the lock.
BUDGET = 30
HOLD = 120


class Failed(Exception):
    """Something that could not be measured or installed; `detail` is what the program said."""

    def __init__(self, reason, detail=""):
        super().__init__(reason)
        self.detail = detail


@dataclass
class Run:
    """One process, or one answer of a running one. Times in seconds."""

    seconds: float
    cpu: float = 0.0
    memory_mib: float = 0.0
    output: str = ""


class Samples:
    """Several runs of the same. `str` gives the median with the range, in milliseconds or seconds."""

    def __init__(self, runs):
        self.runs = runs
        self.memory_mib = max(run.memory_mib for run in runs)

    @property
    def seconds(self):
        return statistics.median(run.seconds for run in self.runs)

    @property
    def cpu(self):
        return statistics.median(run.cpu for run in self.runs)

    def __str__(self):
        times = [run.seconds for run in self.runs]
        if len(times) == 1:
            return f"{duration(times[0])} (1 run)"
        unit = "s" if self.seconds >= 10 else "ms"
        least, most = number(min(times), unit), number(max(times), unit)
        return f"{duration(self.seconds)} ({least}–{most})"


def number(seconds, unit):
    if unit == "s":
        return f"{seconds:.1f}"
    ms = seconds * 1000
    return f"{ms:.1f}" if ms < 10 else f"{ms:,.0f}"


def duration(seconds):
    unit = "s" if seconds >= 10 else "ms"
    return f"{number(seconds, unit)} {unit}"


def repeat(action, runs, warm_up=False):
    """Calls `action` up to `runs` times, as long as BUDGET lasts, under QUIET. With `warm_up`, a first
    run does not count, unless it is the only one that there is time for."""
    QUIET.begin()
    started = time.monotonic()
    results = []
    first = [action()] if warm_up else []
    while not (results or first) or (len(results) < runs and time.monotonic() - started < BUDGET):
        results.append(action())
    return Samples(results or first)


class Quiet:
    """Holds the lock of the machine, if there is one, for at most HOLD seconds at a time, so that builds that
    wait for it get their turn. Several measurements can follow one another under the same hold."""

    def __init__(self):
        self.file = None
        self.end = 0.0

    def begin(self):
        """Waits for the lock, unless it is held for another BUDGET seconds."""
        path = os.environ.get("CODEWEAVER_BENCH_LOCK")
        if path is None or self.end - time.monotonic() >= BUDGET:
            return
        self.release()
        self.file = open(path, "a")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.end = time.monotonic() + HOLD
        timer = threading.Timer(HOLD, fcntl.flock, (self.file, fcntl.LOCK_UN))
        timer.daemon = True
        timer.start()

    def release(self):
        if self.file:
            fcntl.flock(self.file, fcntl.LOCK_UN)


QUIET = Quiet()


def run(command, cwd, env=None, limit=600, success=(0,)):
    """Runs a process to its end. Its peak memory is its own, or that of a larger process that it waited
    for."""
    command = [str(part) for part in command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        too_long = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        too_long.start()
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - started
        is_timed_out = not too_long.is_alive()
        too_long.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        output, errors = (stream.read().decode(errors="replace") for stream in (out, err))
    if is_timed_out:
        raise Failed(f"not within {limit:.0f} s, {usage.ru_maxrss / 1024:.0f} MiB", errors)
    if process.returncode not in success:
        raise Failed(f"exit code {process.returncode}", f"{' '.join(command)}\n{errors or output}")
    return Run(took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def peak_memory_mib(pid):
    """The peak of a running process, its mapped files included."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def disk_mib(paths):
    """What files and directories occupy, in MiB."""
    total = 0
    for path in map(Path, paths):
        files = (
            [path] if path.is_file() else [Path(d) / name for d, _, names in os.walk(path) for name in names]
        )
        total += sum(file.lstat().st_blocks * 512 for file in files)
    return total / (1 << 20)
