"""A plot with logarithmic axes, as SVG."""

import math
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 940, 620
LEFT, RIGHT, TOP, BOTTOM = 70, 290, 20, 50
COLOURS = ["#1b6ca8", "#c0392b", "#e67e22", "#7d3c98", "#af7ac5", "#1e8449", "#7f8c8d", "#34495e", "#b7950b"]


class Axis:
    """Maps values to a range of pixels; its bounds are powers of ten."""

    def __init__(self, values, start, end):
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self.start, self.end = start, end

    def place(self, value):
        share = (math.log10(value) - self.low) / max(1, self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        return [(10.0**power, power) for power in range(self.low, self.high + 1)]


@dataclass
class Line:
    title: str
    # Pairs of positive numbers, ascending.
    points: list
    is_dashed: bool = False


def svg(lines, of_x):
    """The lines, each in its own unit, which its title names; `of_x` says what they are drawn over."""
    xs = Axis([x for it in lines for x, _ in it.points], LEFT, WIDTH - RIGHT)
    ys = Axis([y for it in lines for _, y in it.points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for value, power in xs.ticks():
        x = xs.place(value)
        parts.append(line((x, ys.start), (x, ys.end), "#ddd"))
        parts.append(label(x, HEIGHT - BOTTOM + 20, f"{10**power:,}", "middle"))
    for value, _ in ys.ticks():
        y = ys.place(value)
        parts.append(line((xs.start, y), (xs.end, y), "#ddd"))
        parts.append(label(LEFT - 8, y + 4, f"{value:,g}", "end"))
    parts.append(label((xs.start + xs.end) / 2, HEIGHT - 10, of_x, "middle"))
    for n, drawn in enumerate(lines):
        parts += curve(drawn, (xs, ys), n)
    return "\n".join([*parts, "</svg>\n"])


def curve(drawn, axes, n):
    xs, ys = axes
    colour = COLOURS[n % len(COLOURS)]
    places = [(xs.place(x), ys.place(y)) for x, y in drawn.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dash = ' stroke-dasharray="5 4"' if drawn.is_dashed else ""
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    x, y = WIDTH - RIGHT + 15, TOP + 20 + 22 * n
    yield line((x, y - 4), (x + 22, y - 4), colour)
    yield label(x + 28, y, drawn.title, "start")


def line(start, end, colour):
    (x1, y1), (x2, y2) = start, end
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="2"/>'
    )


def label(x, y, text, anchor):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222">{escape(text)}</text>'
