"""The path of a page through the code gets no longer (benchmarks/path.py says what is counted)."""

import pytest

from benchmarks.path import measure

#: The lengths of each page's path. Lower a number with each function and file that goes.
CEILINGS = {
    "students": {
        "functions down": 11,
        "files down": 8,
        "functions back": 162,
        "files back": 49,
        "with rows": 19,
    },
    "dataset": {
        "functions down": 18,
        "files down": 8,
        "functions back": 161,
        "files back": 43,
        "with rows": 16,
    },
    "scores": {
        "functions down": 11,
        "files down": 8,
        "functions back": 159,
        "files back": 47,
        "with rows": 19,
    },
}


@pytest.fixture(scope="module")
def lengths() -> dict[str, dict[str, int]]:
    return {name: trace.counts() for name, trace in measure().items()}


def test_no_path_of_a_page_grows(lengths: dict[str, dict[str, int]]) -> None:
    grown = {
        (name, title): lengths[name][title]
        for name, ceilings in CEILINGS.items()
        for title, ceiling in ceilings.items()
        if lengths[name][title] > ceiling
    }
    assert grown == {}, "python -m benchmarks.path shows the path"


def test_ceilings_of_paths_are_tight(lengths: dict[str, dict[str, int]]) -> None:
    assert lengths == CEILINGS, f"write the lower numbers into CEILINGS: {lengths}"
