"""What board and workbook say of warnings in three worlds: they work, mean nothing, or are unfair."""

import re
import shutil
from collections.abc import Callable
from contextlib import closing
from html import unescape
from pathlib import Path

import duckdb
import pytest

from exports.export import Options, Written, export
from tests.kits.exports.spreadsheets import read_book
from tests.kits.models.builds import Build
from tests.kits.models.publishing import publish
from tests.kits.models.warning_worlds import SCHOOL, TODAY, World, clear, fill, rows_of

BETTER = "Such flags find them better than chance."
#: About how many percent of the flags are right, as the worlds are made.
RIGHT = {"works": 65, "means nothing": 19, "biased": 38}
NOT_SHOWN = "The data do not show that such flags are better than chance."


@pytest.fixture(scope="module")
def written(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Callable[[World], dict[str, Path]]:
    published = publish(healthy, tmp_path_factory.mktemp("healthy"))

    def write(world: World) -> dict[str, Path]:
        folder = tmp_path_factory.mktemp("world")
        file = Path(shutil.copy(published, folder / "campus.duckdb"))
        with closing(duckdb.connect(str(file))) as con:
            clear(con)
            fill(con, rows_of(world, 7))
            con.execute(TODAY)
        options = Options(folder / "exports", language="en")
        ends = list(export(file, ["board", "early_warning"], [SCHOOL], options))
        assert all(isinstance(end, Written) for end in ends), ends
        return {end.name: end.path for end in ends if isinstance(end, Written)}

    return write


def came_true(page: Path) -> str:
    """The section of the board in English, without markup."""
    [section] = re.findall(
        r'<section id="section-came_true"[^>]*>(.*?)</section>', page.read_text(encoding="utf-8"), re.S
    )
    english = re.sub(r'<span class="zh".*?</span>', "", section)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", english)).split())


@pytest.mark.parametrize("world", ["works", "means nothing", "biased"])
def test_a_head_can_tell_the_worlds_apart(written: Callable[[World], dict[str, Path]], world: World) -> None:
    files = written(world)
    board = came_true(files["board"])
    assert (BETTER in board) == (world != "means nothing")
    assert (NOT_SHOWN in board) == (world == "means nothing")
    [(group, verdict)] = re.findall(
        r"(Boys|Girls) \(S20, week 8[^.]*?\), (no more|more) than chance makes", board
    )
    assert (group, verdict) == ("Boys", "more") if world == "biased" else verdict == "no more"
    assert "own eye is not known" in board
    assert share_of_right(files["early_warning"]) == pytest.approx(RIGHT[world], abs=9)


def share_of_right(workbook: Path) -> float:
    """Of the students with a reason of attendance by week 8, the percentage who failed two courses."""
    sheet = read_book(workbook)["Came true"]
    labels = ("Week",), ("Flagged by",), ("What happened",), ("Right, %", "Share")
    rows = zip(*(sheet.column(*label) for label in labels), strict=True)
    [share] = [
        share
        for week, rule, outcome, share in rows
        if (week, rule) == (8, "A reason of attendance") and outcome.startswith("Failed two courses")
    ]
    return float(share)
