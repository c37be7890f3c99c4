"""When a run is taken to be dead: by heartbeats that somebody looked for in vain."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from pipelines.district.heartbeats import BEAT, LOOK_COUNTS, SILENT, Beat, Heartbeats, Watch
from tests.kits.servers.postgres import Postgres, postgres

BEGUN = datetime(2025, 5, 16, tzinfo=UTC)
RUN, WORKER = "a-run", "worker1@here"


class Told(Heartbeats):
    """Beats as the test says."""

    def __init__(self) -> None:
        super().__init__("postgresql+psycopg2://nowhere")
        self.last: dict[str, Beat] = {}

    def all(self) -> dict[str, Beat]:
        return self.last


def silences(beats_at: set[int], looks: list[int]) -> list[float]:
    """How silent a run is found that gave signs at these seconds, by somebody who looked at those."""
    beats = Told()
    watch, durations = Watch(beats), []
    for now in looks:
        earlier = [second for second in beats_at if second <= now]
        beats.last = {RUN: Beat(WORKER, BEGUN + timedelta(seconds=max(earlier)))} if earlier else {}
        durations.append(watch.look(RUN, float(now))[0])
    return durations


def test_a_killed_run_is_noticed_within_two_minutes() -> None:
    looks = list(range(0, 240, 15))
    silent = silences(set(range(0, 61, int(BEAT))), looks)
    noticed = next(at for at, seconds in zip(looks, silent, strict=True) if seconds >= SILENT)
    assert noticed - 60 < 110


@pytest.mark.parametrize("away", [20, 30, 60, 600])
def test_a_database_that_was_away_ends_no_run(away: int) -> None:
    """Neither beats nor looks come through meanwhile; then a look may come before the beat."""
    beats = {*range(0, 61, 10), *range(60 + away + 15, 60 + away + 100, 10)}
    looks = [*range(0, 61, 15), *range(60 + away + 1, 60 + away + 100, 15)]
    assert max(silences(beats, looks)) < SILENT


def test_a_database_that_lost_the_last_beat_brings_no_dead_run_to_life() -> None:
    beats = Told()
    beats.last = {RUN: Beat(WORKER, BEGUN)}
    watch = Watch(beats)
    assert [watch.look(RUN, now)[0] for now in (0.0, 15.0, 30.0)] == [0.0, 15.0, 30.0]
    beats.last = {}
    silent, beat = watch.look(RUN, 75.0)
    assert silent == 30.0 + LOOK_COUNTS and beat == Beat(WORKER, BEGUN)
    beats.last = {RUN: Beat(WORKER, BEGUN + timedelta(seconds=80))}
    assert watch.look(RUN, 90.0)[0] == 0.0


def test_a_slow_host_ends_no_run() -> None:
    assert max(silences({0, 10, 50, 60}, list(range(0, 61, 15)))) < SILENT


def test_a_run_that_never_gave_a_sign_is_silent_from_the_first_look() -> None:
    assert silences(set(), [0, 15, 30, 45, 60, 75])[-1] == SILENT
    assert silences(set(), [0, 1000])[-1] == LOOK_COUNTS


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running_server:
        yield running_server


def test_a_run_that_was_given_up_is_told_so_and_no_longer_counts(server: Postgres) -> None:
    its_own, other = Heartbeats(server.url), Heartbeats(server.url)
    assert not its_own.beat(RUN, WORKER)
    assert other.all()[RUN].worker == WORKER
    Watch(other).give_up(RUN)
    assert its_own.beat(RUN, WORKER) and other.all() == {}
    its_own.forget(RUN)
    assert not its_own.beat(RUN, WORKER)


def test_a_database_that_crashed_learns_of_a_run_with_its_next_beat(server: Postgres) -> None:
    beats = Heartbeats(server.url)
    beats.beat(RUN, WORKER)
    server.stop()
    server.start()
    assert beats.all() == {}, "a crash empties what is not logged"
    assert not beats.beat(RUN, WORKER) and beats.all().keys() == {RUN}
