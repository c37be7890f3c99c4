"""The unit tests of the models."""

from dataclasses import replace

from pipelines.cli.developer.unit_tests import run_unit_tests, unit_tests
from tests.kits.models.builds import Build
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled


def test_every_unit_test_passes(healthy: Build) -> None:
    differences = run_unit_tests(unit_tests(), read_project(compiled()), healthy.file)
    assert {name: lines for name, lines in differences.items() if lines} == {}
    assert "grade_student_semester_sums_means_and_ranks" in differences


def test_a_wrong_number_fails_its_unit_test(healthy: Build) -> None:
    [test] = [test for test in unit_tests() if test.name.startswith("reconciliation_compares_slices")]
    assert isinstance(test.expected, list)
    first, *others = test.expected
    wrong = replace(test, expected=[first | {"_school_id": 9}, *others, first])
    lines = run_unit_tests([wrong], read_project(compiled()), healthy.file)[test.name]
    assert [line.split()[0] for line in lines] == ["lacks"]
    assert "9" in lines[0]
