"""One kind of tries: how many there are to be, for how long, from which random numbers, and what failed."""

import random
import time

# Number of failures after which a kind ends.
MOST_FAILURES = 20


class Run:
    """The tries of `kind`. With the same seed the same are made, as far as the machine allows."""

    def __init__(self, kind, seed, wanted, seconds=None):
        self.kind = kind
        self.rng = random.Random(f"{kind} {seed}")
        self.wanted = wanted
        self.tries = 0
        self.failures = []
        # What was measured, by name, and why something was not tried.
        self.figures = {}
        self.skipped = None
        self.started = time.monotonic()
        self.limit = seconds

    def is_short(self):
        return self.limit is not None

    def seconds(self):
        return time.monotonic() - self.started

    def goes_on(self):
        """Whether there is to be another try."""
        is_late = self.limit is not None and self.seconds() > self.limit
        return self.tries < self.wanted and not is_late and len(self.failures) < MOST_FAILURES

    def tried(self, n=1):
        self.tries += n

    def failed(self, what):
        self.failures.append(what)
        print(f"FAILED {self.kind}: {what}", flush=True)

    def summary(self):
        """The result as a value for JSON."""
        result = {"tries": self.tries, "failures": len(self.failures), "seconds": round(self.seconds(), 1)}
        if self.skipped:
            result["skipped"] = self.skipped
        return result | {"figures": self.figures, "failed": self.failures}

    def line(self):
        """The result as a line of text."""
        figures = "".join(f"; {name} {value}" for name, value in self.figures.items())
        skipped = f"; skipped: {self.skipped}" if self.skipped else ""
        counts = f"{self.tries:6} tries {len(self.failures):3} failures {self.seconds():6.0f} s"
        return f"{self.kind:12} {counts}{figures}{skipped}"
