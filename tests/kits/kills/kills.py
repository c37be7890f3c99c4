"""Kills of one kind of command: where they begin, when they fall, and what has to be so after each.

A command is run untouched first. The moments are spread over its life, one in each part of it, by SEED."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import le
from pathlib import Path
from random import Random

import pytest

from tests.kits.kills.home_state import different, lake_rows, left_behind, published_rows, upkeep
from tests.kits.kills.killing import Ended, Victims

SEED = 20261122
SYNC, BUILD = ("campus", "sync"), ("campus", "build")
DRAIN = ("dagster", "job", "execute", "-m", "pipelines.definitions", "-j", "pushes")
#: The property of a test's report that is a line of the table.
ROW = "kill"
#: A moment that came too late, on a machine that is quicker by now, is tried again so much earlier.
EARLIER = 0.8

Copy = Callable[[Path], Path]
Tell = Callable[[str, object], None]


@dataclass(frozen=True)
class Kill:
    """One of the kills of a kind. `share`: of the command's life that is over by then."""

    kind: str
    number: int
    share: float

    def __str__(self) -> str:
        return f"{self.kind.replace(' ', '_')}_{self.number:02}"


@dataclass(frozen=True)
class Start:
    """Where the kills of a kind begin, and how it is where nothing is killed, after so many seconds."""

    home: Path
    command: Sequence[str]
    environment: Mapping[str, str]
    seconds: float
    lake: Mapping[str, str]
    published: Mapping[str, str]


def kills(kind: str, number: int) -> list[Kill]:
    """So many kills of a kind, at moments spread over its life."""
    chance = Random(f"{SEED}/{kind}")
    return [Kill(kind, index, (index + chance.random()) / number) for index in range(number)]


def untouched(
    victims: Victims, home: Path, command: Sequence[str], environment: Mapping[str, str], copy: Copy
) -> Start:
    """Run a command to its end on a copy of a home."""
    reference = copy(home)
    ended = victims.run(command, environment, reference)
    assert ended.status == 0, ended.output[-5000:]
    upkeep(reference)
    return Start(home, command, environment, ended.seconds, lake_rows(reference), published_rows(reference))


def killed_and_run_again(victims: Victims, start: Start, kill: Kill, copy: Copy, report: Tell) -> Path:
    """Kill the command, run it again, and compare; the home. `tell`: takes the
    line of the table."""
    share, killed = kill.share, Ended(0, "", 0.0)
    while not killed.stage:
        moment, home = share * start.seconds, copy(start.home)
        before = set(left_behind(home))
        killed = victims.run(start.command, start.environment, home, partial(le, moment))
        share *= EARLIER
    stood = in_words(set(left_behind(home)) - before)
    again = victims.run(start.command, start.environment, home)
    upkeep(home)
    wrong = [*different(start.lake, lake_rows(home)), *different(start.published, published_rows(home))]
    orphans = left_behind(home)
    equal = "equal" if not wrong and not orphans else f"DIFFERENT {wrong} {orphans}"
    report(
        ROW,
        f"{kill} | {killed.seconds:5.1f} s | {killed.stage:28} | {stood:40} | "
        f"{again.status} {again.last_words[:60]} | {equal}",
    )
    assert again.status == 0, again.output[-5000:]
    assert (wrong, orphans) == ([], []), f"{wrong} {orphans}"
    return home


def in_words(left: set[str]) -> str:
    """What a kill has left, by the folder that it is in."""
    folders = sorted({path.split("/")[0] for path in left})
    counts = {folder: sum(path.startswith(folder) for path in left) for folder in folders}
    return ", ".join(f"{count} in {folder}" for folder, count in counts.items()) or "nothing"


def params(*kinds: tuple[str, int]) -> list[object]:
    """The kills of these kinds as parameters of a test; they take minutes, so that `make test` leaves them
    out."""
    return [
        pytest.param(kill, id=str(kill), marks=pytest.mark.slow)
        for kind, number in kinds
        for kill in kills(kind, number)
    ]
