"""Rows in memory: what `Lake.scan` finds is what deltalake finds in the same snapshot."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from tests.kits.lake.small_lake import MARKS, NewLake, row, sync
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES, LOAD_LOG
from warehouse.lake.school_subset import LakeSnapshot, SchoolSubset
from warehouse.lake.tables import Column, Slice, Stored, school_condition, school_filter

SLICES = [
    Slice.of(_school_id=school, _semester_id=semester) for school in (101, 102) for semester in (20, 21)
]
HINTED = replace(MARKS, columns=(*MARKS.columns, Column("hint", pa.string(), "Hint")))
HUED = replace(
    HINTED,
    columns=tuple(
        replace(column, type=pa.list_(pa.struct([("name", pa.string()), ("hue", pa.string())])))
        if column.name == "tags"
        else column
        for column in HINTED.columns
    ),
)
COLUMNS = (["id"], ["_school_id", "hint", "id"], ["tags", "score", "_semester_id"])


def filled(lake: Lake) -> None:
    """Two schools of two semesters: rows that went, and a slice that was written before a column came."""
    for number, slice in enumerate(SLICES):
        sync(lake, number, [row(id, id, tags=[{"name": "甲"}]) for id in range(5)], slice=slice)
        sync(lake, number + 4, [row(id, id) for id in range(2, 5)], slice=slice)
    lake.ensure([HINTED])
    sync(lake, 9, [row(1, 7, hint="x"), row(2, 7)], slice=SLICES[0], table=HINTED)


def by_deltalake(
    lake: Lake, table: Stored, columns: list[str], predicate: str | None
) -> list[dict[str, Any]]:
    opened = DeltaTable(lake.uri(table), storage_options=lake.storage_options)
    rows = pa.table(opened.scan(columns=columns, predicate=predicate)).to_pylist()
    return in_order(rows)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


CONDITIONS: dict[str | None, pc.Expression | None] = {
    None: None,
    school_condition([102]): school_filter([102]),
    school_condition([103]): school_filter([103]),
    f"{school_condition([101, 102])} AND id IN (2, 3)": school_filter([101, 102])
    & pc.field("id").isin([2, 3]),
    "_deleted_at IS NULL": pc.field("_deleted_at").is_null(),
    "_deleted_at IS NOT NULL AND _semester_id = 21": ~pc.field("_deleted_at").is_null()
    & (pc.field("_semester_id") == 21),
    "hint IS NOT NULL": ~pc.field("hint").is_null(),
}


def test_a_scan_finds_what_deltalake_finds(lake: Lake) -> None:
    filled(lake)
    for columns, predicate in product(COLUMNS, CONDITIONS):
        actual = lake.scan(HINTED, lake.open(HINTED), columns, CONDITIONS[predicate])
        assert actual.schema == pa.schema([HINTED.lake_schema.field(name) for name in columns])
        expected = by_deltalake(lake, HINTED, columns, predicate)
        assert in_order(actual.to_pylist()) == expected, (columns, predicate)
        assert expected or predicate == school_condition([103])


def test_a_slice_is_read_alone_and_without_its_tombstones(lake: Lake) -> None:
    filled(lake)
    for slice in SLICES:
        for alive, condition in ((True, " AND _deleted_at IS NULL"), (False, "")):
            actual = lake.read(MARKS, slice, ["id", "_deleted_at"], alive=alive)
            expected = by_deltalake(lake, MARKS, ["id", "_deleted_at"], slice.predicate + condition)
            assert in_order(actual.to_pylist()) == expected != []


def test_what_a_file_lacks_is_null(lake: Lake) -> None:
    filled(lake)
    rows = lake.read(HUED, SLICES[3], ["id", "tags", "hint"], alive=False).to_pylist()
    assert {row["hint"] for row in rows} == {None}
    assert [row["tags"] for row in rows if row["id"] == 0] == [[{"name": "甲", "hue": None}]]


def test_a_lake_of_some_schools_has_no_rows_of_others(lake: Lake) -> None:
    filled(lake)
    mine = SchoolSubset(LakeSnapshot(lake), [102])
    assert set(mine.read(MARKS, columns=["_school_id"])["_school_id"].to_pylist()) == {102}
    assert set(mine.read(LOAD_LOG)["_school_id"].to_pylist()) == {102}
    assert mine.read(MARKS, SLICES[0]).num_rows == 0


def test_folders_may_be_named_by_any_text(lake: Lake) -> None:
    names = ["datasets.学生 成绩", "datasets.a=b/c%20", "datasets.plain"]
    rows = [{"resource": name, "_school_id": 101, "slice": "101:20", "sync_id": "x"} for name in names]
    data = pa.Table.from_pylist(
        [{**dict.fromkeys(CHANGES.lake_schema.names), **row} for row in rows], schema=CHANGES.lake_schema
    )
    write_deltalake(lake.open(CHANGES), data, mode="append")
    result = lake.scan(CHANGES, lake.open(CHANGES), ["resource"], pc.field("resource") == names[0])
    assert result["resource"].to_pylist() == names[:1]
    assert Counter(lake.read(CHANGES, columns=["resource"])["resource"].to_pylist()) == Counter(names)


def test_only_files_that_can_have_rows_are_copied(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(lake)
    read: list[str] = []
    readable = lake.readable

    def noted(table: Stored, names: Sequence[str]) -> list[str]:
        read.extend(names)
        return readable(table, names)

    monkeypatch.setattr(lake, "readable", noted)
    result = lake.scan(
        MARKS, lake.open(MARKS), ["id"], school_filter([102]) & (pc.field("_semester_id") == 21)
    )
    assert result.num_rows == 5 and [name.split("/")[:2] for name in read] == [
        ["_school_id=102", "_semester_id=21"]
    ]


def test_a_file_that_is_damaged_is_told_with_its_table(new_lake: NewLake, tmp_path: Path) -> None:
    lake = new_lake(tmp_path / "lake")
    filled(lake)
    Path(lake.files(MARKS, SLICES[0])[0]).write_bytes(b"no Parquet")
    with pytest.raises(DeltaError, match=r"lake table marks cannot be read: .*part-"):
        lake.read(MARKS)
    assert lake.read(MARKS, SLICES[1]).num_rows
