"""The contract of the published file: a document of the standard, and no breaking change without a word."""

import copy
import os
import re
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from jsonschema import Draft201909Validator
from open_data_contract_standard.model import OpenDataContractStandard

from exports.export import Options, Written, export
from pipelines.cli.developer.contract_changes import breaking_changes, promises
from tests.kits.models.builds import Build
from tests.kits.models.publishing import publish_strictly

ROOT = Path(__file__).parents[4]
#: What the last release promised. A release writes it anew: CAMPUS_WRITE_CONTRACT=1.
RELEASED = Path(__file__).with_name("released_contract.yaml")
CHANGELOG = ROOT / "CHANGELOG.md"
OWNERS = ("data@school.example",)


@pytest.fixture(scope="module")
def contract(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `campus export contract` writes."""
    folder = tmp_path_factory.mktemp("contract")
    file = publish_strictly(healthy, folder)
    [end] = export(file, ["contract"], None, Options(folder=folder, owners=OWNERS))
    assert isinstance(end, Written) and end.path.name == "contract.yaml", end
    text = end.path.read_text(encoding="utf-8")
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        [(tables,)] = con.execute(
            "SELECT count(*) FROM quality.dictionary "
            "WHERE column_name IS NULL AND schema_name IN ('core', 'marts', 'quality')"
        ).fetchall()
    assert end.rows == {"tables": tables}
    read: dict[str, Any] = yaml.safe_load(text)
    return read


def test_it_is_a_document_of_the_standard(contract: dict[str, Any]) -> None:
    schema = (
        resources.files("open_data_contract_standard").joinpath("schema.json").read_text(encoding="utf-8")
    )
    errors = list(Draft201909Validator(yaml.safe_load(schema)).iter_errors(contract))
    assert not errors, errors[0]
    OpenDataContractStandard.model_validate(contract)


def test_it_has_meanings_keys_classes_and_owners(contract: dict[str, Any]) -> None:
    tables = {table["physicalName"]: table for table in contract["schema"]}
    warning = tables["marts.early_warning"]
    columns = {column["name"]: column for column in warning["properties"]}
    assert "One row per student and semester" in warning["description"]
    assert columns["student_name"]["classification"] == "name"
    assert [name for name, column in columns.items() if column.get("primaryKey")] == [
        "school_id",
        "semester_id",
        "student_id",
    ]
    assert columns["attendance_rate"]["logicalType"] == "number"
    targets = {tuple(reference["to"]) for reference in warning["relationships"]}
    assert ("dim_student.school_id", "dim_student.student_id") in targets
    assert contract["team"]["members"] == [{"username": "data@school.example"}]


def test_a_breaking_change_stands_in_the_changelog(contract: dict[str, Any]) -> None:
    unreleased, version, _ = re.split(r"\n## \[([\d.]+)\]", CHANGELOG.read_text(encoding="utf-8"), maxsplit=1)
    entries = unreleased.partition("## [Unreleased]")[2].strip()
    released = yaml.safe_load(RELEASED.read_text(encoding="utf-8"))
    if os.environ.get("CAMPUS_WRITE_CONTRACT") and released["release"] != version:
        assert not entries, "release what is unreleased first"
        released = {"release": version, "tables": promises(contract)}
        text = yaml.safe_dump(
            released, sort_keys=True, default_flow_style=None, width=4000, allow_unicode=True
        )
        RELEASED.write_text(text, encoding="utf-8")
    assert released["release"] == version, "a release writes its promises: CAMPUS_WRITE_CONTRACT=1"
    breaking = "".join(re.findall(r"### (?:Changed|Removed)\n(.*?)(?=\n### |\Z)", entries, re.DOTALL))
    said = set(re.findall(r"`([\w.]+)`", breaking))
    changes = breaking_changes(released["tables"], promises(contract))
    unsaid = {name: change for name, change in changes.items() if name not in said}
    assert not unsaid, "say in CHANGELOG.md, under Changed or Removed, what readers have to change"


def test_each_kind_of_breaking_change_is_named(contract: dict[str, Any]) -> None:
    before = promises(contract)
    now = copy.deepcopy(before)
    del now["marts.transcript_gpa"], now["marts.early_warning"]["columns"]["level"]
    now["core.dim_student"]["columns"]["student_id"] = "VARCHAR"
    now["core.dim_school"]["key"].append("school_name")
    now["core.dim_date"]["columns"]["moon"] = "VARCHAR"
    now["marts.moon"] = {"key": [], "columns": {}}
    assert breaking_changes(before, before) == {}
    assert breaking_changes(before, now) == {
        "core.dim_school": "had the key ['school_id'] and has ['school_id', 'school_name']",
        "core.dim_student.student_id": "was BIGINT and is VARCHAR",
        "marts.early_warning.level": "is gone",
        "marts.transcript_gpa": "is gone",
    }
