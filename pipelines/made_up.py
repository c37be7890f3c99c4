"""The platform of made-up schools: the embedded simulator, as a home has last seen it."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipelines.origin import Origin, read_origin, write_origin
from simulator.process import RunningSimulator, running

#: What the platform has besides, so that no mart is empty: grades of conduct and dormitories, and rooms that
#: two classes want at once.
PLATFORM: dict[str, Any] = {"other_grades": "beside", "double_booked": 20}
CORRECTED_GRADES = 5
POINTS = 2


@contextmanager
def made_up_platform(home: Path) -> Iterator[RunningSimulator]:
    """Run the simulator while the block lasts. It forgets all changes, so the corrections that the home has
    noted are made again."""
    origin = read_origin(home)
    with running(**PLATFORM) as platform:
        for _ in range(origin.corrections if origin else 0):
            correct_grades(platform)
        yield platform


def note_correction(home: Path) -> None:
    """Note in the home that the grades were corrected once more."""
    origin = read_origin(home) or Origin(True)
    write_origin(home, replace(origin, corrections=origin.corrections + 1))


def correct_grades(platform: RunningSimulator) -> int:
    """A teacher gives a few students more points, too few to move anybody to another level or rank. How
    many."""
    school_id = platform.rows("schools", 0)[0]["key"]
    scores = defaultdict[int, list[Decimal]](list)
    published = []
    for entry in platform.rows("grades", school_id):
        if entry["row"]["source"] == "class" and entry["row"]["published_at"]:
            scores[entry["row"]["source_id"]].append(Decimal(entry["row"]["real_score"]))
            published.append(entry)
    corrected = 0
    for entry in published:
        score = Decimal(entry["row"]["real_score"])
        passed = [other for other in scores[entry["row"]["source_id"]] if score <= other <= score + POINTS]
        if corrected < CORRECTED_GRADES and score % 10 < 10 - POINTS and len(passed) == 1:
            more = str(score + POINTS)
            platform.update("grades", entry["key"], score=more, real_score=more)
            corrected += 1
    return corrected
