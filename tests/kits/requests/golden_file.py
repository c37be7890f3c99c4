"""Golden files of requests: what each reading of the specification costs in a first and in a second night.

A section names its readings, then the paths, each with the number of requests in the first and in the second
night, or with a line for each of its parameters below it. The plain platform's section has all requests. The
others have the difference from the plain platform, if the file has it: +2, two more requests; -1, one fewer.
Readings with equal differences share a section."""

import re
from collections import Counter
from pathlib import Path

from tests.kits.readings.choices import PLAIN

GOLDEN = Path(__file__).parents[2] / "end_to_end" / "requests" / "golden"
FIRST, SECOND = "first night", "second night"
RECORD_AGAIN = "record again with: make requests"

#: The requests of each night with their counts.
Nights = dict[str, Counter[str]]

METHODS = ("GET ", "POST ")
_COUNTS = re.compile(r" *([+-]\d+) +([+-]\d+) ?(.*)")


def read_nights(file: str, name: str) -> Nights:
    """The nights of a reading in a golden file; empty if the file does not have the reading."""
    sections = _sections(file)
    return _plus(sections.get(name, _no_nights()), _base(sections, name), 1)


def read_names(file: str) -> set[str]:
    """The names of the readings in a golden file."""
    return set(_sections(file))


def write_nights(file: str, name: str, nights: Nights) -> None:
    """Write the nights of a reading. The plain platform's nights begin the file anew, since all others are
    written as differences from the plain platform's."""
    sections = {} if name == PLAIN else _sections(file)
    sections[name] = _plus(nights, _base(sections, name), -1)
    names_by_text: dict[str, list[str]] = {}
    for reading, counts in sections.items():
        names_by_text.setdefault(_text(counts, _base(sections, reading)), []).append(reading)
    heads = ("".join(f"[{reading}]\n" for reading in names) for names in names_by_text.values())
    text = "\n".join(map(str.__add__, heads, names_by_text))
    (GOLDEN / file).write_text(text, encoding="utf-8")


def difference(recorded: Nights, golden: Nights) -> str:
    """Lines for a person: where nights differ from the golden file, and what to do. Empty: nowhere."""
    lines = []
    for night, changes in _plus(recorded, golden, -1).items():
        if changes:
            lines.append(f"{night}: {recorded[night].total()} requests, golden file: {golden[night].total()}")
        for request in sorted(changes, key=lambda request: (changes[request] < 0, request)):
            lines.append(f"  {changes[request]:+} {request} (golden file: {golden[night][request]})")
    if lines and all(recorded[night] <= golden[night] for night in recorded):
        lines.append(f"Fewer requests and no new ones: {RECORD_AGAIN}")
    elif lines:
        lines.append(f"Some requests are new or more frequent. Only if that is meant, {RECORD_AGAIN}")
    return "\n".join(lines)


def _no_nights() -> Nights:
    return {FIRST: Counter(), SECOND: Counter()}


def _base(sections: dict[str, Nights], name: str) -> Nights:
    """The nights from which a reading's section is the difference."""
    return _no_nights() if name == PLAIN else sections.get(PLAIN, _no_nights())


def _sections(file: str) -> dict[str, Nights]:
    sections: dict[str, Nights] = {}
    path = GOLDEN / file
    for section in path.read_text(encoding="utf-8").split("\n\n") if path.exists() else ():
        nights, request_path = _no_nights(), ""
        for line in section.splitlines():
            if counts := _COUNTS.fullmatch(line):
                is_whole = counts[3].startswith(METHODS)
                request = counts[3] if is_whole else f"{request_path} {counts[3]}".rstrip()
                nights[FIRST][request] = int(counts[1])
                nights[SECOND][request] = int(counts[2])
            elif line.startswith("["):
                sections[line[1:-1]] = nights
            else:
                request_path = line
    return sections


def _plus(nights: Nights, others: Nights, sign: int) -> Nights:
    """The sums or differences of counts, without zeros."""
    total: Nights = {}
    for night in nights:
        requests = nights[night].keys() | others[night].keys()
        counts = {request: nights[night][request] + sign * others[night][request] for request in requests}
        total[night] = Counter({request: count for request, count in counts.items() if count})
    return total


def _text(counts: Nights, base: Nights) -> str:
    first, second = (counts[night].total() + base[night].total() for night in (FIRST, SECOND))
    lines = [f"{first} requests in the first night, {second} in the second"]
    path = ""
    for request in sorted(counts[FIRST].keys() | counts[SECOND].keys()):
        method, name, *parameters = request.split(" ", 2)
        if parameters and path != f"{method} {name}":
            path = f"{method} {name}"
            lines.append(path)
        lines.append(
            f"{counts[FIRST][request]:+5} {counts[SECOND][request]:+5} {''.join(parameters) or request}"
        )
    return "\n".join(lines) + "\n"
