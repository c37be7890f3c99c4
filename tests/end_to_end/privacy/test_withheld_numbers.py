"""A home holds no identity number that a platform sends, however it is spelt and wherever it stands."""

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from campus.push.message import Push, PushedEvent
from loading.pushes.inbox import open_inbox
from pipelines.settings.options import DatasetOptions
from tests.kits.worlds.world import World
from writeback.operations import CHANGE_USER, Write
from writeback.store.journal import Provenance
from writeback.store.store import Store

SPELLINGS = (
    "id_card",
    "idCard",
    "IDCARD",
    "id_no",
    "idNumber",
    "identity_number",
    "sfzh",
    "身份证号",
    "证件号",
)
SELECT = " or ".join(f'key:"raw/{name}"' for name in ("students", "user_fields", "v1_users"))
SELECT += ' or key:"datasets/records"'


def number(sequence: int) -> str:
    digits = f"11010119900307{sequence:03d}"
    total = sum(int(digit) * 2 ** (17 - place) for place, digit in enumerate(digits))
    return digits + "10X98765432"[total % 11]


NUMBERS = [number(sequence) for sequence in range(40)]
#: Of 15 digits, which only the name of a field gives away.
OLD = "110101900307123"


@pytest.fixture(scope="module")
def careless(make_world: Callable[..., World]) -> World:
    """A school that sends identity numbers in every way; loaded and published once."""
    world = make_world("crowd", students=30)
    platform, numbers = world.platform, iter(NUMBERS)
    keys = [entry["key"] for entry in platform.rows("students", 101)]
    for key, name in zip(keys, SPELLINGS, strict=False):
        nested = {"family": [{name: next(numbers), "old": {name: OLD}}], "note": f"号{next(numbers)}。"}
        platform.update("students", key, **{name: next(numbers), "more": nested})
    platform.update("students", keys[-1], name=f"王 {next(numbers)}", usin=next(numbers))
    platform.insert("user_fields", 101, name="field_9", label="身份证号码", role=1, type=1)
    users = [entry["key"] for entry in platform.rows("v1_users", 101)]
    for key in users[:5]:
        platform.update("v1_users", key, field_9=OLD, sfzh=NUMBERS[35])
    # One row of many for the quarantine.
    platform.update("v1_users", users[-1], id=None, outer_id=NUMBERS[36], other={"idNo": OLD})
    rows = platform.rows("datasets/course_scores", 101)
    platform.update("datasets/course_scores", rows[0]["key"], parent=101, course=f"{NUMBERS[37]}")
    platform.insert(
        "dataset_fields", 101, dataset="course_scores", name="身份证", type="string", label="证件"
    )
    platform.update("datasets/course_scores", rows[1]["key"], parent=101, 身份证=OLD)
    datasets = world.settings.options.model_copy(
        update={"datasets": DatasetOptions(include=("course_scores",))}
    )
    [problem] = world.load(select=SELECT, options=datasets).problems
    assert "quality.quarantine" in problem
    return world


def contents(home: Path) -> Iterator[tuple[Path, str]]:
    """All that a home holds, as text: as bytes, and the files of tables row by row."""
    for path in filter(Path.is_file, home.rglob("*")):
        yield path, path.read_bytes().decode(errors="replace")
        if path.suffix == ".parquet":
            yield path, str(pq.read_table(path, partitioning=None).to_pylist())
        elif path.suffix == ".duckdb":
            with duckdb.connect(str(path), read_only=True) as connection:
                for schema, name in connection.execute(
                    "SELECT schema, name FROM (SHOW ALL TABLES)"
                ).fetchall():
                    yield path, str(connection.execute(f'SELECT * FROM {schema}."{name}"').fetchall())
        elif path.suffix in (".sqlite", ".db"):
            with sqlite3.connect(path) as connection:
                yield path, "\n".join(connection.iterdump())


def holding(home: Path) -> set[str]:
    """The files that hold a number."""
    return {
        str(path.relative_to(home))
        for path, text in contents(home)
        if OLD in text or any(digits in text or digits[:-1] in text for digits in NUMBERS)
    }


def test_no_file_of_the_home_holds_a_number(careless: World) -> None:
    world = careless
    event = PushedEvent("updated", (5, NUMBERS[30], {"id": 6, "idCard": OLD, "note": NUMBERS[31]}))
    with open_inbox(world.home) as inbox:
        push = Push(str(uuid.uuid4()), "students", datetime.now(UTC), (event,))
        assert inbox.add(101, push, 10)
        [waiting] = inbox.due(101, 10)
        assert waiting.keys == (5, None, {"id": 6, "note": None})
    content: dict[str, Any] = {"outer_id": NUMBERS[32], "sfzh": OLD, "name": f"李{NUMBERS[33]}"}
    write = Write(CHANGE_USER, 101, 7, {"outer_id": NUMBERS[32]}, content)
    with Store(world.home) as store:
        number = store.journal.begin(write, Provenance("a test", "a file"), NUMBERS[32])
        store.journal.end(number, "refused", 422, f"{NUMBERS[34]} is taken")
    assert world.publish().problem is None
    assert (world.home / "campus.duckdb").exists()
    assert holding(world.home) == set()


def test_the_drift_counts_what_was_withheld(careless: World) -> None:
    rows = [row for row in careless.log("drift") if row["kind"] == "withheld_identity_number"]
    counts = {(row["resource"], row["_school_id"], row["field"]): row["rows"] for row in rows}
    for name in SPELLINGS:
        assert counts["students", 101, name] == 1
        assert counts["students", 101, f"more.{name}"] == 1
    assert counts["students", 101, "more"] == len(SPELLINGS)
    assert counts["students", 101, "name"] == counts["students", 101, "usin"] == 1
    assert counts["v1_users", 101, "field_9"] == 5
    assert counts["v1_users", 101, "outer_id"] == 1
    assert counts["v1_users", 101, "idcard"] > 1
    assert counts["datasets.course_scores", 101, "course"] == 1
    assert counts["datasets.course_scores", 101, "身份证"] == 1
    assert all(row["value"] is None for row in rows)


def test_a_setting_keeps_them_as_they_are_sent(careless: World) -> None:
    key = careless.platform.rows("students", 101)[-1]["key"]
    careless.load(select=SELECT, keep_id_numbers=True, full=True)
    student = careless.row("students", key)
    assert is_kept(student["usin"]) and student["name"].startswith("王 1101")
    careless.load(select=SELECT, full=True)
    assert careless.row("students", key)["usin"] is None


def is_kept(value: str | None) -> bool:
    return value in NUMBERS
