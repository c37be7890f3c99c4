"""A school with grades of every kind: of each four, one is delayed, and some have a word for a score."""

from pathlib import Path

import pytest

from exports.export import Options, Written, export
from simulator.readings import Readings
from tests.kits.models.builds import Builder
from tests.kits.models.publishing import publish
from tests.kits.models.raw_tables import create_raw
from tests.kits.models.simulated_school import SCHOOL, WORD, fill, simulated


@pytest.fixture(scope="session")
def published(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A school of which each fourth grade is delayed, and some have a word for a score."""
    rows = simulated(Readings())
    delayed = {"status": "delayed", "score": None, "pass_status": "failed"}
    word = {"score": None, "_extra": {"score": WORD}}
    rows["grades"] = [
        row | delayed if number % 4 == 0 else row | word if number % 40 == 1 else row
        for number, row in enumerate(rows["grades"])
    ]
    rows["scores"] = [row | word if number % 40 == 1 else row for number, row in enumerate(rows["scores"])]
    file = tmp_path_factory.mktemp("raw") / "campus.duckdb"
    create_raw(file, {})
    fill(file, SCHOOL, rows)
    return publish(build("delayed", file), tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="session")
def site(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = Options(tmp_path_factory.mktemp("site"), roles=("head",))
    [end] = export(published, ["site"], [SCHOOL], options)
    assert isinstance(end, Written), end
    return end.path
