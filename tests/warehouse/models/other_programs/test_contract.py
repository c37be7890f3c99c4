"""The contracts of the published file: documents of the standard that hold, and no breaking change without a
word."""

import copy
import os
import re
import subprocess
from collections.abc import Callable
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from jsonschema import Draft201909Validator
from open_data_contract_standard.model import OpenDataContractStandard

from exports.contract import SCHEMAS
from exports.export import Options, Written, export
from pipelines.cli.developer.contract_changes import breaking_changes, promises
from tests.kits.exports.open_tables import NO_OTHER_PROGRAMS, OTHER_PROGRAMS
from tests.kits.worlds.world import World

ROOT = Path(__file__).parents[4]
#: What the last release promised. A release writes it anew: CAMPUS_WRITE_CONTRACT=1.
RELEASED = Path(__file__).with_name("released_contract.yaml")
CHANGELOG = ROOT / "CHANGELOG.md"
OWNERS = ("data@school.example",)


Contracts = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def world(load_world: Callable[..., World]) -> World:
    """A published school with datasets."""
    world = load_world("datasets", select=None)
    assert world.publish().problem is None
    return world


@pytest.fixture(scope="module")
def contracts(world: World) -> Contracts:
    """What `campus export contract` writes, by schema."""
    options = Options(folder=world.home / "exports", owners=OWNERS)
    ends = list(export(world.settings.published, ["contract"], None, options))
    assert all(isinstance(end, Written) for end in ends), ends
    with closing(duckdb.connect(str(world.settings.published), read_only=True)) as con:
        tables = con.execute(
            "SELECT schema_name, count(*) FROM quality.dictionary WHERE column_name IS NULL GROUP BY ALL"
        ).fetchall()
    counts = {f"contract_{schema}.yaml": count for schema, count in tables if schema in SCHEMAS}
    assert {end.path.name: end.rows["tables"] for end in ends} == counts and len(counts) == len(SCHEMAS)
    return {
        schema: yaml.safe_load(end.path.read_text(encoding="utf-8"))
        for schema, end in zip(SCHEMAS, ends, strict=True)
    }


@pytest.mark.parametrize("schema", SCHEMAS)
def test_it_is_a_document_of_the_standard(contracts: Contracts, schema: str) -> None:
    standard = (
        resources.files("open_data_contract_standard").joinpath("schema.json").read_text(encoding="utf-8")
    )
    errors = list(Draft201909Validator(yaml.safe_load(standard)).iter_errors(contracts[schema]))
    assert not errors, errors[0]
    OpenDataContractStandard.model_validate(contracts[schema])


@pytest.mark.skipif(not OTHER_PROGRAMS.exists(), reason=NO_OTHER_PROGRAMS)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_published_file_keeps_its_contract(contracts: Contracts, world: World, schema: str) -> None:
    """As another program finds it, with its own DuckDB."""
    tables = contracts[schema]["schema"]
    done = subprocess.run(
        [OTHER_PROGRAMS / "datacontract", "test", f"exports/contract_{schema}.yaml"],
        cwd=world.settings.published.parent,
        env={**os.environ, "COLUMNS": "1000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    [checks] = re.findall(r"Data contract is valid. Ran (\d+) checks", done.stdout)
    # Each column is there and has its type.
    assert int(checks) >= 2 * sum(len(table["properties"]) for table in tables)


def test_they_have_meanings_keys_classes_and_owners(contracts: Contracts) -> None:
    [warning] = [table for table in contracts["marts"]["schema"] if table["name"] == "early_warning"]
    columns = {column["name"]: column for column in warning["properties"]}
    assert "One row per student and semester" in warning["description"]
    assert columns["student_name"]["classification"] == "name"
    assert [name for name, column in columns.items() if column.get("primaryKey")] == [
        "school_id",
        "semester_id",
        "student_id",
    ]
    assert columns["attendance_rate"]["logicalType"] == "number"
    assert {"property": "unit", "value": "percent"} in columns["attendance_rate"]["customProperties"]
    # A table of another document.
    refers_to = {"property": "refersTo", "value": "core.dim_student.student_id"}
    assert refers_to in columns["student_id"]["customProperties"]
    [rule] = columns["level"]["quality"]
    assert rule["arguments"] == {"validValues": ["at_risk", "warning", "watch", "none", "unknown"]}
    [student] = [table for table in contracts["core"]["schema"] if table["name"] == "dim_student"]
    targets = {tuple(reference["to"]) for reference in student["relationships"]}
    assert ("dim_term.school_id", "dim_term.term_id") in targets
    assert all(contract["team"]["members"] == [{"username": OWNERS[0]}] for contract in contracts.values())


def test_a_breaking_change_stands_in_the_changelog(contracts: Contracts) -> None:
    unreleased, version, _ = re.split(r"\n## \[([\d.]+)\]", CHANGELOG.read_text(encoding="utf-8"), maxsplit=1)
    entries = unreleased.partition("## [Unreleased]")[2].strip()
    released = yaml.safe_load(RELEASED.read_text(encoding="utf-8"))
    if os.environ.get("CAMPUS_WRITE_CONTRACT") and released["release"] != version:
        assert not entries, "release what is unreleased first"
        released = {"release": version, "tables": promises(contracts.values())}
        text = yaml.safe_dump(
            released, sort_keys=True, default_flow_style=None, width=4000, allow_unicode=True
        )
        RELEASED.write_text(text, encoding="utf-8")
    assert released["release"] == version, "a release writes its promises: CAMPUS_WRITE_CONTRACT=1"
    breaking = "".join(re.findall(r"### (?:Changed|Removed)\n(.*?)(?=\n### |\Z)", entries, re.DOTALL))
    said = set(re.findall(r"`([\w.]+)`", breaking))
    changes = breaking_changes(released["tables"], promises(contracts.values()))
    unsaid = {name: change for name, change in changes.items() if name not in said}
    assert not unsaid, (
        "say in CHANGELOG.md, under Changed or Removed, what readers have to change; if a meaning has only "
        f"other words, write them into {RELEASED.name}"
    )


def test_each_kind_of_breaking_change_is_named(contracts: Contracts) -> None:
    before = promises(contracts.values())
    now: dict[str, Any] = copy.deepcopy(before)
    del now["marts.transcript_gpa"], now["marts.early_warning"]["columns"]["level"], now["marts.metric_gpa"]
    students, rate = now["core.dim_student"]["columns"], now["marts.metric_attendance_rate"]
    students["student_id"]["type"] = "VARCHAR"
    del students["school_id"]["required"]
    students["student_name"]["meaning"] = "Name of the guardian"
    students["role"]["values"].append("guest")
    now["marts.attendance_student_semester"]["columns"]["attendance_rate"]["unit"] = "share"
    now["core.dim_school"]["key"].append("school_name")
    now["core.dim_school"]["meaning"] = "One row per campus"
    now["oneroster.users"]["columns"].pop("sourcedId")
    rate["parameters"].remove("since")
    rate["dimensions"].remove("class")
    rate["unit"] = "share"
    now["core.dim_date"]["columns"]["moon"] = {"type": "VARCHAR"}
    now["marts.moon"] = {"key": [], "columns": {}}
    assert breaking_changes(before, before) == {}
    school = before["core.dim_school"]["meaning"]
    assert breaking_changes(before, now) == {
        "core.dim_school": f"meaning was {school} and is One row per campus; "
        "had the key ['school_id'] and has ['school_id', 'school_name']",
        "core.dim_student.role": "values was ['student'] and is ['student', 'guest']",
        "core.dim_student.school_id": "was never null and may be null",
        "core.dim_student.student_id": "type was BIGINT and is VARCHAR",
        "core.dim_student.student_name": "meaning was Name and is Name of the guardian",
        "marts.attendance_student_semester.attendance_rate": "unit was percent and is share",
        "marts.early_warning.level": "is gone",
        "marts.metric_attendance_rate": "unit was percent and is share; lacks the parameters ['since']; "
        "lacks the dimensions ['class']",
        "marts.metric_gpa": "is gone",
        "marts.transcript_gpa": "is gone",
        "oneroster.users.sourcedId": "is gone",
    }
