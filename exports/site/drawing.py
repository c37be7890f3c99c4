"""Draws a section's rows as a line chart: inline SVG without scripts, legible in grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import escape

from exports.site.kinds import Line

#: Pixels of the drawing, and of its margins for labels.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 190, 44, 12, 10, 26
#: Dashes of the lines, the first of which is solid and thickest.
DASHES = ("", "7 3", "2 2")
#: Labels along the axis at most, so that they do not overlap.
MOST_LABELS = 12


def line_chart(line: Line, rows: Sequence[Mapping[str, Any]], legend: Sequence[str], alt: str) -> str:
    """HTML for the lines of the rows over their order. Empty for fewer than two values: they make no line.

    Args:
        legend: The label of each line, as HTML.
        alt: What the drawing shows, for screen readers."""
    values = [[row[name] for row in rows] for name in line.values]
    numbers = [float(value) for own in values for value in own if value is not None]
    if len(rows) < 2 or len(numbers) < 2:
        return ""
    low, high = _ends(min(numbers), max(numbers))

    def x(place: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * place / (len(rows) - 1)

    def y(value: Any) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - float(value)) / (high - low)

    grid = "".join(
        f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}"/>'
        f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" class="end">{tick:g}</text>'
        for tick in (low, (low + high) / 2, high)
    )
    step = -(-len(rows) // MOST_LABELS)
    labels = "".join(
        f'<text x="{x(place):.1f}" y="{HEIGHT - 6}" class="middle">{escape(row[line.along])}</text>'
        for place, row in enumerate(rows)
        if place % step == 0
    )
    # The first line is drawn last, above the others.
    lines = "".join(
        _path(number, "M" + "L".join(f"{across:.1f} {down:.1f}" for across, down in points))
        for number, own in reversed(list(enumerate(values)))
        if (points := [(x(place), y(value)) for place, value in enumerate(own) if value is not None])
    )
    keys = "".join(
        f'<li><svg width="34" height="8" aria-hidden="true">{_path(number, "M0 4H34")}</svg> {label}</li>'
        for number, label in enumerate(legend)
        if any(value is not None for value in values[number])
    )
    return (
        f'<div class="scroll" tabindex="0"><svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(alt)}">'
        f'{grid}{labels}{lines}</svg></div><ul class="legend">{keys}</ul>'
    )


def _path(number: int, points: str) -> str:
    return f'<path class="line line{number}" stroke-dasharray="{DASHES[number]}" d="{points}"/>'


def _ends(low: float, high: float) -> tuple[float, float]:
    """Round ends of the axis around the values."""
    step = 1 if high - low < 8 else 5 if high - low < 40 else 20
    ends = (low // step * step, -(-high // step) * step)
    return ends if ends[0] < ends[1] else (ends[0] - step, ends[1] + step)
