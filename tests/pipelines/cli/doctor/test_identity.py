"""The doctor reports identity numbers that a home has kept since before they were withheld."""

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.cli.doctor.home import examine_identity_numbers
from pipelines.settings.settings import Settings
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES, PAST_ROWS, QUARANTINE, Log

NUMBER = "110101199003071233"
#: Of 15 digits: the name of a field alone gives it away.
OLD = "110101900307123"
AT = datetime(2026, 9, 1)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path / "lake"))
    for table in (PAST_ROWS, CHANGES, QUARANTINE):
        lake.create(table)
    return lake


def add(lake: Lake, table: Log, *rows: dict[str, Any]) -> None:
    full = [dict.fromkeys(table.lake_schema.names) | {"_school_id": 101} | row for row in rows]
    write_deltalake(lake.uri(table), pa.Table.from_pylist(full, schema=table.lake_schema), mode="append")


def past(**columns: Any) -> dict[str, Any]:
    return {"resource": "grades", "row": json.dumps({"id": "7", **columns}), "known_from": AT}


def found(lake: Lake, **settings: Any) -> str:
    finding = examine_identity_numbers(Settings(home=Path(lake.root).parent, **settings), lake)
    assert finding is None or finding.good is False
    return finding.text if finding else ""


def test_clean_home_gets_no_finding(lake: Lake) -> None:
    add(lake, PAST_ROWS, past(name="王", _extra='{"note": "13800001111", "student_id_no": "7"}'))
    # An id may look like a number by chance.
    add(lake, PAST_ROWS, {"resource": "grades", "row": json.dumps({"id": NUMBER}), "known_from": AT})
    add(lake, PAST_ROWS, {"resource": "grades", "row": None, "known_from": AT})
    assert found(lake) == ""


@pytest.mark.parametrize(
    "columns",
    [
        {"comment": NUMBER},
        {"comment": f"号{NUMBER}。"},
        {"_extra": json.dumps({"family": [{"idCard": OLD}]})},
        {"_extra": json.dumps({"身份证号": OLD}, ensure_ascii=False)},
        {"_extra": json.dumps({"note": NUMBER})},
    ],
)
def test_number_in_past_row_is_reported(lake: Lake, columns: dict[str, Any]) -> None:
    add(lake, PAST_ROWS, past(**columns), past(comment="none"))
    words = found(lake)
    assert words.startswith("Rows that were loaded before identity numbers were withheld still have them: ")
    assert "quality.past_rows of school 101, grades (1 rows)" in words
    assert "retention.history_days" in words and NUMBER not in words and OLD not in words
    assert found(lake, keep_id_numbers=True) == ""


def test_changes_and_quarantine_count_too(lake: Lake) -> None:
    change = {"resource": "grades", "op": "updated", "field": "comment", "before": None, "after": NUMBER}
    add(lake, CHANGES, change, change | {"field": "sfzh", "before": OLD, "after": "x"})
    add(lake, QUARANTINE, {"resource": "students", "raw": json.dumps({"id_card": OLD})})
    words = found(lake)
    assert "quality.changes of school 101, grades (2 rows)" in words
    assert "quality.quarantine of school 101, students (1 rows)" in words


def test_many_rows_take_little_time(lake: Lake) -> None:
    row = past(name="王小明", comment="x" * 200, score="87.5", _extra='{"note": "ok"}')
    add(lake, PAST_ROWS, *[row] * 50_000)
    before = time.process_time()
    assert found(lake) == ""
    # A home of a million past rows takes twenty times as long.
    assert time.process_time() - before < 5
