"""A dataset's definition may change at any time, and differ between schools: no row and no value is lost."""

import multiprocessing
import tempfile
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.account import Drift
from tests.kits.lake.datasets import ID, SCORE, define, everything, load, segment
from tests.kits.lake.small_lake import NewLake, lake_at
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Column, Table
from warehouse.load.schema_evolution import changes, evolve
from warehouse.publish.fill import build_raw

SPAWN = multiprocessing.get_context("spawn")
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [None, 0, 7, 2**62],
    pa.string(): [None, "", "7", "7.00", "优", "2026-03-02"],
    pa.decimal128(8, 2): [None, Decimal("7.00"), Decimal("1.25")],
    pa.decimal128(12, 3): [None, Decimal("7.000"), Decimal("1.125")],
    pa.date32(): [None, date(2026, 3, 2)],
    pa.struct([("name", pa.string())]): [None, {"name": "优"}],
}
TYPES = list(VALUES)
FIELDS = ("a", "B", "成绩")


@st.composite
def loads(draw: st.DrawFn) -> dict[str, Any]:
    types = draw(st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(TYPES)))
    content = {name: st.sampled_from(VALUES[type]) for name, type in types.items()}
    rows = st.fixed_dictionaries({"id": st.integers(1, 4), **content})
    return {
        "school": draw(st.sampled_from([101, 102])),
        "types": types,
        "rows": draw(st.lists(rows, max_size=4, unique_by=lambda row: row["id"])),
        "incremental": draw(st.booleans()),
    }


@dataclass
class Row:
    """What the lake should hold of a row: of each field, one value under one type."""

    alive: bool = True
    values: dict[str, tuple[pa.DataType, Any]] = field(default_factory=dict)


Model = dict[tuple[int, int], Row]


def follow(model: Model, said: dict[str, Any]) -> None:
    """What a load makes of the rows, in the simplest words."""
    school, seen = said["school"], {row["id"] for row in said["rows"]}
    for (owner, id), row in model.items():
        if owner == school and id not in seen and not said["incremental"]:
            row.alive = False
    for sent in said["rows"]:
        row = model.setdefault((school, sent["id"]), Row())
        row.alive = True
        row.values |= {name: (type, sent[name]) for name, type in said["types"].items()}


def definition(types: dict[str, pa.DataType]) -> Table:
    return define(*(Column(name, type, name) for name, type in types.items()))


@settings(max_examples=15, deadline=None)
@given(sequence=st.lists(loads(), min_size=1, max_size=5))
def test_no_row_and_no_value_is_lost(new_lake: NewLake, sequence: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = new_lake(f"{folder}/lake")
        model: Model = {}
        definitions: dict[int, Table] = {}
        for number, said in enumerate(sequence):
            wanted = definition(said["types"])
            definitions = {said["school"]: wanted} | {
                school: old for school, old in definitions.items() if school != said["school"]
            }
            load(
                lake,
                number,
                wanted,
                [{**row, "_extra": None} for row in said["rows"]],
                slice=segment(school=said["school"]),
                incremental=said["incremental"],
            )
            follow(model, said)
            assert in_lake(lake, wanted) == expected(model)
        file = Path(folder) / "campus.duckdb"
        build_raw(lake, [], file, defined=list(definitions.values()))
        assert_published(file, model)


def expected(model: Model) -> dict[tuple[int, int], Any]:
    return {
        key: (row.alive, {name: value for name, (_, value) in row.values.items() if value is not None})
        for key, row in model.items()
    }


def in_lake(lake: Lake, wanted: Table) -> dict[tuple[int, int], Any]:
    result = {}
    for row in everything(lake, evolve(lake, wanted)):
        values = defaultdict(list)
        for name in row.keys() - {"id", "_extra"}:
            if not name.startswith("_") and row[name] is not None:
                values[name.split("__")[0]].append(row[name])
        assert all(len(cells) == 1 for cells in values.values()), "a value is in one column only"
        key = (row["_school_id"], row["id"])
        assert key not in result
        result[key] = (row["_deleted_at"] is None, {name: cells[0] for name, cells in values.items()})
    return result


def assert_published(file: Path, model: Model) -> None:
    """Each value is in the column of its field, or in one beside it, and is what it was as text."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        rows = con.sql("FROM datasets.course_scores").to_arrow_table().to_pylist()
    assert {(row["_school_id"], row["id"]) for row in rows} == set(model)
    for row in rows:
        model_row = model[row["_school_id"], row["id"]]
        assert (row["_deleted_at"] is None) == model_row.alive
        for name, (_, value) in model_row.values.items():
            columns = [column for column in row if column == name or column.startswith(f"{name}__")]
            shown = [row[column] for column in columns if row[column] is not None]
            if value is None:
                assert shown == []
            else:
                [actual] = shown
                assert actual == value or str(actual) == str(value)


def test_a_column_of_another_type_stands_beside(lake: Lake) -> None:
    first = evolve(lake, define(SCORE))
    wider = define(replace(SCORE, type=pa.decimal128(12, 3)))
    assert evolve(lake, wider).columns == {"id": "id", "score": "score__decimal_12_3"}
    version = lake.version(first.table)
    assert evolve(lake, define(SCORE)).columns == first.columns
    assert evolve(lake, wider) == evolve(lake, wider)
    assert lake.version(first.table) == version
    said = {column.name: column.metadata for column in lake.open(first.table).schema().fields}
    assert said["score__decimal_12_3"] == {"field": "score", "comment": "Points"}


def test_names_that_could_be_mistaken(lake: Lake) -> None:
    text = Column("score", pa.string(), "")
    taken = Column("score__string", pa.int64(), "a field of that very name")
    evolve(lake, define(SCORE))
    evolve(lake, define(taken))
    evolved = evolve(lake, define(text, taken))
    assert evolved.columns == {"id": "id", "score": "score__string_2", "score__string": "score__string"}
    assert evolve(lake, define(replace(SCORE, name="SCORE"))).columns["SCORE"] == "score"
    with pytest.raises(ValueError, match="two columns of the same name"):
        evolve(lake, define(SCORE, replace(SCORE, name="Score")))


def test_a_row_read_again_under_another_type(lake: Lake) -> None:
    load(lake, 0, define(SCORE), [{"id": 1, "score": Decimal(1)}, {"id": 2, "score": Decimal(2)}])
    text = define(replace(SCORE, type=pa.string()))
    outcome = load(lake, 1, text, [{"id": 1, "score": None}], incremental=True)
    assert (outcome.counts.changed, outcome.counts.carried) == (1, 1)
    rows_by_id = {row["id"]: row for row in everything(lake, evolve(lake, text))}
    assert (rows_by_id[1]["score"], rows_by_id[1]["score__string"]) == (None, None)
    assert (rows_by_id[2]["score"], rows_by_id[2]["score__string"]) == (Decimal(2), None)


def test_a_key_of_another_type_loses_no_row(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warehouse.lake.sql.CHUNK_ROWS", 10)
    load(lake, 0, define(SCORE), [{"id": id, "score": None} for id in range(30)])
    named = replace(define(SCORE), columns=(replace(ID, type=pa.string()), SCORE))
    outcome = load(lake, 1, named, [{"id": str(id), "score": None} for id in range(25)])
    assert (outcome.counts.new, outcome.counts.vanished) == (25, 30)
    assert len(everything(lake, evolve(lake, named))) == 55
    assert load(lake, 2, named, []).counts.vanished == 25


def evolve_and_load(root: str, worker: int) -> None:
    lake = lake_at(root)
    for number in range(4):
        type = TYPES[(worker + number) % 4]
        wanted = define(Column("a", type, ""), Column(f"own_{worker}_{number}", pa.int64(), ""))
        row = {"id": 1, "a": VALUES[type][1], f"own_{worker}_{number}": number}
        load(lake, number, wanted, [row], slice=segment(worker))


def test_processes_with_different_definitions_at_once(lake: Lake) -> None:
    processes = [SPAWN.Process(target=evolve_and_load, args=(lake.root, worker)) for worker in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    rows = {row["_segment"]: row for row in everything(lake, evolve(lake, define()))}
    assert len(rows) == 3
    for worker, row in rows.items():
        assert [row[f"own_{worker}_{number}"] for number in range(4)] == [0, 1, 2, 3]
        columns = [name for name in row if name == "a" or name.startswith("a__")]
        assert len(columns) == 4
        assert sum(row[name] is not None for name in columns) == 1


def test_changes_of_a_definition() -> None:
    before = define(SCORE, Column("rank", pa.int64(), ""), Column("note", pa.string(), ""))
    after = define(
        replace(SCORE, type=pa.decimal128(12, 3)),
        Column("rank", pa.string(), ""),
        Column("成绩", pa.date32(), ""),
    )
    assert set(changes(before, after)) == {
        Drift("field_widened", "score", "decimal(8,2) -> decimal(12,3)"),
        Drift("field_retyped", "rank", "integer -> string"),
        Drift("field_added", "成绩", "date"),
        Drift("field_removed", "note", "string"),
    }
    assert changes(after, after) == []
    [wider] = changes(define(SCORE), define(replace(SCORE, type=pa.decimal128(9, 3))))
    assert wider.kind == "field_widened"
    [narrower] = changes(define(SCORE), define(replace(SCORE, type=pa.decimal128(8, 3))))
    assert narrower.kind == "field_retyped"
