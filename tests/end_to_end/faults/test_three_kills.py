"""A first sync that is killed three times in a row, in its load, its build and its swap, and then left alone:
what `make test` keeps of the kills of `make test-slow`."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import duckdb

from tests.kits.kills.home_state import left_behind, upkeep
from tests.kits.kills.killing import Victims
from tests.kits.kills.kills import SEED, SYNC
from tests.kits.programs.processes import environment_for
from tests.kits.worlds.world import BASE_ONLY, World, differences

LOAD = (*SYNC, "--select", BASE_ONLY)
Moment = Callable[[Path], bool]
#: By a file that is there. The swap is over before it can be met each time.
MOMENTS: tuple[Moment, ...] = (
    lambda home: any((home / "lake" / "scores").rglob("*.parquet")),
    lambda home: (home / "build" / "campus.duckdb").exists(),
    lambda home: any((home / "generations").glob("*")),
)


def test_three_kills_in_a_row_lose_nothing_and_leave_nothing(
    make_world: Callable[..., World], programs: Victims
) -> None:
    world, chance = make_world(datasets=False), Random(SEED)
    environment, home = environment_for(world.home, world.platform), world.home
    for moment in MOMENTS:
        delay, seen = chance.random() / 2, list[float]()

        def is_time(
            seconds: float, moment: Moment = moment, delay: float = delay, seen: list[float] = seen
        ) -> bool:
            if not seen and moment(home):
                seen.append(seconds)
            return bool(seen) and seconds >= seen[0] + delay

        killed = programs.run(LOAD, environment, home, is_time)
        assert killed.stage or moment is MOMENTS[-1], killed.output[-5000:]
        print(f"{killed.seconds:.1f} s, {killed.stage}: {killed.last_words}")  # noqa: T201
    last = programs.run(LOAD, environment, home)
    assert last.status == 0, last.output[-5000:]
    assert differences(world) == {}
    with duckdb.connect(str(world.settings.published), read_only=True) as con:
        for resource in ("students", "scores", "grades"):
            published = con.sql(f"SELECT count(*) FROM raw.{resource}").fetchall()
            assert published == [(len(world.held(resource, alive=False)),)]
    upkeep(home)
    assert left_behind(home) == []
