"""Draws curves as SVG, on two logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 900, 520
LEFT, RIGHT, TOP, BOTTOM = 70, 290, 30, 60
#: Colours that differ also for people who confuse red and green (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b")


@dataclass(frozen=True)
class Curve:
    """A named curve, and points of it that are marked."""

    name: str
    points: Sequence[tuple[float, float]]
    marks: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis."""

    name: str
    least: float
    most: float
    ticks: Sequence[float]

    def place(self, value: float) -> float:
        """The place of a value, from 0 to 1. Values beyond the ends are at the ends."""
        value = min(max(value, self.least), self.most)
        return math.log(value / self.least) / math.log(self.most / self.least)


def chart(title: str, x: Axis, y: Axis, curves: Sequence[Curve], line: float, line_name: str) -> str:
    """An SVG of the curves, with a horizontal line at `line`."""

    def at(point: tuple[float, float]) -> str:
        across = LEFT + x.place(point[0]) * (WIDTH - LEFT - RIGHT)
        return f"{across:.1f},{_height(y, point[1]):.1f}"

    right = WIDTH - RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for tick in x.ticks:
        across = at((tick, y.least)).partition(",")[0]
        parts += [
            f'<path d="M{across} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>',
            f'<text x="{across}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{tick:,.0f}</text>',
        ]
    for tick in y.ticks:
        height = f"{_height(y, tick):.1f}"
        parts += [
            f'<path d="M{LEFT} {height}H{right}" stroke="#dddddd"/>',
            f'<text x="{LEFT - 8}" y="{height}" dy="4" text-anchor="end">{tick:g}</text>',
        ]
    limit = f"{_height(y, line):.1f}"
    parts += [
        f'<path d="M{LEFT} {limit}H{right}" stroke="#444444" stroke-width="2" stroke-dasharray="6 4"/>',
        f'<text x="{LEFT + 6}" y="{limit}" dy="-6" fill="#444444">{escape(line_name)}</text>',
        f'<text x="{(LEFT + right) / 2:.0f}" y="{HEIGHT - 15}" text-anchor="middle">{escape(x.name)}</text>',
        f'<text transform="translate(18 {HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y.name)}</text>",
    ]
    for number, curve in enumerate(curves):
        colour, row = COLOURS[number % len(COLOURS)], TOP + 14 + 24 * number
        path = " ".join(map(at, curve.points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        for mark in curve.marks:
            across, _, height = at(mark).partition(",")
            parts.append(
                f'<circle cx="{across}" cy="{height}" r="5" fill="#ffffff" stroke="{colour}" '
                'stroke-width="2.5"/>'
            )
        parts += [
            f'<path d="M{right + 15} {row}h22" stroke="{colour}" stroke-width="2.5"/>',
            f'<text x="{right + 43}" y="{row}" dy="4">{escape(curve.name)}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _height(y: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - y.place(value) * (HEIGHT - TOP - BOTTOM)
