"""The table that is printed."""

from dataclasses import dataclass, field

from measure import Samples

COLUMNS = [
    "tree",
    "program",
    "first index",
    "one-file update",
    "cold query",
    "warm query",
    "CPU time, s",
    "peak memory, MiB",
    "disk, MiB",
]


@dataclass
class Row:
    """A program on a tree. A measurement is Samples, a text in place of one, or None for what it does not
    have."""

    tree: str
    program: str
    index: object = None
    update: object = None
    cold: object = None
    warm: object = None
    disk: float | None = None
    missing: str | None = None
    failures: int = 0
    remarks: list = field(default_factory=list)

    def cells(self):
        if self.missing:
            return [self.tree, self.program, f"not installed: {self.missing}", *[""] * (len(COLUMNS) - 3)]
        cpu = " / ".join(each(part, "cpu", ".2f") for part in (self.index, self.update, self.cold))
        memory = " / ".join(each(part, "memory_mib", ",.0f") for part in (self.index, self.cold, self.warm))
        disk = "–" if self.disk is None else f"{self.disk:,.1f}"
        times = [
            "–" if part is None else str(part) for part in (self.index, self.update, self.cold, self.warm)
        ]
        return [self.tree, self.program, *times, cpu, memory, disk]


def each(samples, figure, form):
    return format(getattr(samples, figure), form) if isinstance(samples, Samples) else "–"


def as_markdown(rows):
    lines = [COLUMNS, ["---", "---", *["---:"] * (len(COLUMNS) - 2)]]
    lines += [[cell.replace("|", "\\|").replace("\n", " ") for cell in row.cells()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
