"""`make model M=...`: one model in a prepared home, with its own tests, and its rows."""

import copy
import shutil
from pathlib import Path

import click
import duckdb
import pytest

from pipelines.cli.developer.try_model import build_model, find_model, missing_parts
from pipelines.cli.developer.unit_tests import unit_tests
from tests.kits.models.builds import Build
from warehouse.publish.models.dbt_project import compiled


@pytest.fixture
def home(healthy: Build, tmp_path: Path) -> Path:
    """A home with a built file in it, as `prepare` leaves one."""
    (tmp_path / "build").mkdir()
    shutil.copy(healthy.file, tmp_path / "build" / "campus.duckdb")
    return tmp_path


def test_a_model_is_built_of_what_is_below_it_then_checked_and_shown(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(home / "build" / "campus.duckdb")) as connection:
        connection.execute("update raw.schools set name = '三中' where id = 2")
        connection.execute("insert into raw.schools from raw.schools where id = 2")
    assert build_model(home, find_model("dim_school")) == 1
    output = capfd.readouterr().out
    assert "fail  dim_school_key" in output
    assert "core.dim_school: 3 rows" in output and "三中" in output
    assert "fct_" not in output, "only what is said of the model itself is run"


def test_what_a_mart_lacks_is_named(healthy: Build) -> None:
    manifest = copy.deepcopy(compiled())
    assert missing_parts(manifest, unit_tests(), "early_warning", healthy.file) == []
    mart = manifest["nodes"]["model.campus.early_warning"]
    mart["config"]["meta"] = {}
    mart["columns"]["reason_count"]["config"]["meta"] = {}
    missing = missing_parts(manifest, (), "early_warning", healthy.file)
    assert [words.partition(" (")[0] for words in missing] == [
        "a name in Chinese for reason_count",
        "a name in Chinese for the table",
        "statements that break its checks",
        "a unit test",
    ]


def test_a_wrong_name_is_told_the_right_one() -> None:
    with pytest.raises(click.BadParameter, match=r"is it .*early_warning"):
        find_model("early_warnings")
