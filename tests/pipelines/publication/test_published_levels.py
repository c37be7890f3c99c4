"""What was published of early warning, from home to lake to the next file."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.publication import models
from pipelines.lake.opening import make_ready
from tests.kits.worlds.world import World
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import PUBLISHED_LEVELS
from warehouse.publish.publish import generation_of

HISTORY = "SELECT * EXCLUDE (is_new_this_week) FROM marts.early_warning_history ORDER BY ALL"


@pytest.fixture(scope="module")
def published(load_world: Callable[..., World]) -> World:
    """A home of a small school, published once."""
    world = load_world("small", select=None, students=16)
    assert world.publish().published
    return world


def query(world: World, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(world.settings.published), read_only=True) as con:
        return con.execute(sql).fetchall()


def logged(world: World) -> list[tuple[Any, ...]]:
    """The log without its times."""
    rows = world.log("published_levels")
    return sorted((row["semester_id"], row["student_id"], row["level"], row["thresholds"]) for row in rows)


def of_file(world: World) -> list[tuple[Any, ...]]:
    return query(
        world, "SELECT semester_id, student_id, level, thresholds FROM core.early_warning_state ORDER BY ALL"
    )


def test_publication_logs_its_levels_once(published: World) -> None:
    assert logged(published) == of_file(published) != []
    version = published.lake.version(PUBLISHED_LEVELS)
    generation = generation_of(published.settings.published)
    again = published.publish()
    assert (again.problem, again.published) == (None, False)
    assert generation_of(published.settings.published) == generation
    assert published.lake.version(PUBLISHED_LEVELS) == version


@pytest.mark.slow
@pytest.mark.parametrize("has_news", [False, True])
def test_kill_between_publication_and_log_is_mended(
    published: World, monkeypatch: pytest.MonkeyPatch, has_news: bool
) -> None:
    """The next build logs what is missing, whether it publishes or not."""
    published.lake.open(PUBLISHED_LEVELS).delete()
    (published.home / "build_anew").touch()

    def killed(lake: Lake, levels: Any) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(models, "log_levels", killed)
        assert published.publish().problem is not None
    history, before = query(published, HISTORY), of_file(published)
    assert history and logged(published) == []
    if has_news:
        [_, student, *_] = before[0]
        published.platform.delete("students", student)
        assert published.load(select=None).problems == []
    again = published.publish()
    assert (again.problem, again.published) == (None, has_news)
    news = {row[1:3] for row in logged(published)} - {row[1:3] for row in before}
    assert set(logged(published)) == {*before, *of_file(published)}
    assert news == ({(student, "left")} if has_news else set())
    assert has_news or query(published, HISTORY) == history


def test_home_of_before_the_log_begins_it(published: World) -> None:
    shutil.rmtree(Path(published.lake.uri(PUBLISHED_LEVELS)))
    make_ready(published.lake, published.settings)
    assert published.publish().problem is None
    assert logged(published) == of_file(published)
    [changes] = query(published, "SELECT list(DISTINCT change) FROM marts.early_warning_history")
    assert changes == (["first"],)


@pytest.mark.slow
def test_new_thresholds_say_so(published: World) -> None:
    """Flags of stricter limits are not the students' news, and what was said before stays."""
    before, rows_before = query(published, HISTORY), len(logged(published))
    # In a later week, by the log: what was published is of two weeks ago.
    older = "as_of - INTERVAL 14 DAY"
    published.lake.open(PUBLISHED_LEVELS).update({"as_of": f"CAST({older} AS DATE)"})
    folder = published.home / "thresholds"
    folder.mkdir()
    (folder / "early_warning_rules.csv").write_text("indicator,warning\nlateness_rate,1\n")
    try:
        assert published.publish().published
        changed = query(
            published,
            "SELECT change, thresholds_changed, is_new_this_week FROM marts.early_warning_history "
            "WHERE is_latest AND change <> 'first' GROUP BY ALL",
        )
    finally:
        shutil.rmtree(folder)
    assert changed and all(is_moved and not is_new for _, is_moved, is_new in changed)
    assert len(logged(published)) == rows_before + len(of_file(published))
    first = query(published, f"SELECT count(*) FROM ({HISTORY}) WHERE change = 'first'")
    assert first == [(len(before),)]
