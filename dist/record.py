#!/usr/bin/env python3
"""Records commands in a terminal as an SVG that shows them one after the other:

    python3 dist/record.py OUT.svg REPOSITORY COMMAND…

Each COMMAND is run by a shell in a pseudo-terminal in REPOSITORY, with the PATH and the configuration of git
that the caller has. The picture shows the screen as each command left it, in the colours that the program
chose. Where pictures are not animated, it is whole from the beginning.

    python3 dist/record.py docs/terminal.svg ~/src/flask 'git codeweaver init' \\
        'git codeweaver search -l 1 "how does an exception become a 500 response"'
"""

import argparse
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

COLUMNS, ROWS = 80, 50
CELL_WIDTH, LINE_HEIGHT, MARGIN, TITLE = 7.83, 18, 16, 34
BACKGROUND, FOREGROUND = "#16181d", "#d5d9e0"
# The sixteen colours of a terminal, normal and bright.
PALETTE = [
    *["#2c313a", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf"],
    *["#7f8794", "#ff7b85", "#b5e890", "#ffd68a", "#7cc4ff", "#dd93f0", "#70d5e0", "#ffffff"],
]
# Seconds between the commands, and after one has been typed.
PAUSE, THINKING = 2.2, 0.6
ESCAPE = re.compile(
    r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b\](?:[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b."
)


@dataclass(frozen=True)
class Style:
    colour: str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underlined: bool = False


class Screen:
    """What a terminal shows after some output: rows of (character, style), wrapped at its width. Nothing
    scrolls; rows are added."""

    def __init__(self):
        self.rows, self.row, self.column, self.style = [[]], 0, 0, Style()

    def feed(self, text):
        at = 0
        while at < len(text):
            sequence = ESCAPE.match(text, at)
            if sequence:
                if sequence[2]:
                    self.control(sequence[1], sequence[2])
                at = sequence.end()
            else:
                self.put(text[at])
                at += 1

    def put(self, character):
        if character == "\n":
            self.move(self.row + 1, self.column)
        elif character == "\r":
            self.column = 0
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character == "\t":
            self.column += 8 - self.column % 8
        elif character >= " ":
            if self.column >= COLUMNS:
                self.move(self.row + 1, 0)
            row = self.rows[self.row]
            row.extend((" ", Style()) for _ in range(self.column - len(row)))
            row[self.column : self.column + 1] = [(character, self.style)]
            self.column += 1

    def move(self, row, column):
        self.row, self.column = max(0, row), max(0, column)
        self.rows.extend([] for _ in range(self.row + 1 - len(self.rows)))

    def control(self, parameters, command):
        numbers = [int(number) if number.isdigit() else 0 for number in parameters.split(";")]
        count = max(1, numbers[0])
        if command == "m":
            self.select(numbers)
        elif command in "AB":
            self.move(self.row + (count if command == "B" else -count), self.column)
        elif command in "CD":
            self.move(self.row, self.column + (count if command == "C" else -count))
        elif command == "G":
            self.column = count - 1
        elif command == "K":
            start = 0 if numbers[0] else self.column
            self.rows[self.row] = self.rows[self.row][:start]
        elif command == "J":
            self.rows[self.row + 1 :] = []
            self.rows[self.row] = self.rows[self.row][: self.column]

    def select(self, numbers):
        """Select graphic rendition."""
        numbers = list(numbers)
        while numbers:
            number = numbers.pop(0)
            if number == 0:
                self.style = Style()
            elif number in (1, 2, 3, 4):
                self.style = replace(
                    self.style, **{("bold", "dim", "italic", "underlined")[number - 1]: True}
                )
            elif number in (22, 23, 24, 39):
                off = {22: {"bold": False, "dim": False}, 23: {"italic": False}, 24: {"underlined": False}}
                self.style = replace(self.style, **off.get(number, {"colour": None}))
            elif 30 <= number <= 37 or 90 <= number <= 97:
                self.style = replace(self.style, colour=PALETTE[number - 30 if number < 90 else number - 82])
            elif number == 38 and numbers:
                self.style = replace(self.style, colour=extended(numbers))


def extended(numbers):
    """The colour of `38;5;N` or `38;2;R;G;B`, whose numbers are taken."""
    if numbers.pop(0) == 2:
        red, green, blue, numbers[:] = *numbers[:3], numbers[3:]
        return f"#{red:02x}{green:02x}{blue:02x}"
    number = numbers.pop(0)
    if number < 16:
        return PALETTE[number]
    if number >= 232:
        return f"#{(number - 232) * 10 + 8:02x}" + f"{(number - 232) * 10 + 8:02x}" * 2
    levels = [0, 95, 135, 175, 215, 255]
    return "#" + "".join(f"{levels[(number - 16) // step % 6]:02x}" for step in (36, 6, 1))


def run(command, repository):
    """The output of a command in a terminal."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "",
        "COLUMNS": str(COLUMNS),
        "GIT_PAGER": "cat",
    }
    process = subprocess.Popen(
        ["sh", "-c", command],
        cwd=repository,
        stdin=other,
        stdout=other,
        stderr=other,
        env=environment,
        start_new_session=True,
    )
    os.close(other)

    parts = []
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(main)
    if process.wait() != 0:
        raise SystemExit(f"error: {command}: exit code {process.returncode}")
    return b"".join(parts).decode()


def spans(row):
    """(column, text, style) of the parts of a row that have one style, without blanks at both ends."""
    start = 0
    for end in range(1, len(row) + 1):
        if end == len(row) or row[end][1] != row[start][1]:
            text = "".join(character for character, _ in row[start:end])
            if text.strip():
                lead = len(text) - len(text.lstrip())
                yield start + lead, text.strip(), row[start][1]
            start = end


def render_span(column, text, style, y):
    attributes = [
        f'x="{MARGIN + column * CELL_WIDTH:.2f}"',
        f'y="{y}"',
        f'textLength="{len(text) * CELL_WIDTH:.2f}"',
    ]
    if style.colour:
        attributes.append(f'fill="{style.colour}"')
    for is_set, attribute in [
        (style.bold, 'font-weight="bold"'),
        (style.dim, 'opacity="0.6"'),
        (style.italic, 'font-style="italic"'),
        (style.underlined, 'text-decoration="underline"'),
    ]:
        if is_set:
            attributes.append(attribute)
    # Blanks in a row would become one.
    shown = escape(text).replace(" ", "\u00a0")
    return f"<text {' '.join(attributes)}>{shown}</text>"


def prompt(command):
    """A command after a prompt, as a row."""
    typed = [(character, Style(bold=True)) for character in command]
    return [("$", Style(colour=PALETTE[2])), (" ", Style()), *typed]


def rows_of(output):
    screen = Screen()
    screen.feed(output)
    rows = screen.rows
    while rows and not rows[-1]:
        rows.pop()
    return rows


def group(rows, y, after):
    """Rows that appear together, some seconds after the beginning."""
    lines = [
        render_span(*span, y + number * LINE_HEIGHT) for number, row in enumerate(rows) for span in spans(row)
    ]
    return f'<g class="late" style="animation-delay:{after:.1f}s">' + "\n".join(lines) + "</g>"


def picture(recordings):
    """The SVG of [(command, output)]."""
    parts, y, after = [], TITLE + MARGIN + 8, 0.4
    for command, output in recordings:
        rows = rows_of(output)
        parts += [group([prompt(command)], y, after), group(rows, y + LINE_HEIGHT, after + THINKING)]
        y += LINE_HEIGHT * (len(rows) + 2)
        after += PAUSE + THINKING

    width, height = round(COLUMNS * CELL_WIDTH + 2 * MARGIN), y - LINE_HEIGHT
    dots = "".join(
        f'<circle cx="{20 + number * 18}" cy="18" r="5.5" fill="{colour}"/>'
        for number, colour in enumerate(["#ff5f57", "#febc2e", "#28c840"])
    )
    label = escape("; ".join(command for command, _ in recordings), quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" '
        f'role="img" aria-label="{label}" font-size="13" fill="{FOREGROUND}" '
        "font-family=\"ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace\">\n"
        "<style>@keyframes late{from{opacity:0}to{opacity:1}}.late{animation:late .2s backwards}"
        "@media(prefers-reduced-motion:reduce){.late{animation:none}}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>{dots}\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", metavar="OUT.svg", type=Path)
    parser.add_argument("repository", metavar="REPOSITORY", type=Path)
    parser.add_argument("commands", metavar="COMMAND", nargs="+")
    options = parser.parse_args()
    recordings = [(command, run(command, options.repository)) for command in options.commands]
    options.out.write_text(picture(recordings), encoding="utf-8")


if __name__ == "__main__":
    main()
