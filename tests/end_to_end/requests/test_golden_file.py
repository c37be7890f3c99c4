"""A golden file keeps the requests of each reading, and says how other nights differ."""

from collections import Counter
from pathlib import Path

import pytest

from tests.kits.readings.choices import PLAIN
from tests.kits.requests import golden_file
from tests.kits.requests.golden_file import (
    FIRST,
    RECORD_AGAIN,
    SECOND,
    Nights,
    difference,
    read_nights,
    write_nights,
)


def nights(**counts: int) -> Nights:
    return {FIRST: Counter(counts), SECOND: Counter(classes=1)}


def test_nights_are_read_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden_file, "GOLDEN", tmp_path)
    plain = {
        FIRST: Counter({"GET /users page=1": 2, "GET /users": 1}),
        SECOND: Counter({"GET /users page=1": 1}),
    }
    other = {FIRST: Counter({"GET /users page=1": 1}), SECOND: Counter({"POST /tokens": 3})}
    readings = {PLAIN: plain, "one": other, "another": plain, "alike": other}
    for name in readings:
        write_nights("file.txt", name, readings[name])
    assert {name: read_nights("file.txt", name) for name in readings} == readings
    assert (tmp_path / "file.txt").read_text() == (
        "[plain]\n3 requests in the first night, 1 in the second\n"
        "   +1    +0 GET /users\nGET /users\n   +2    +1 page=1\n"
        "\n[one]\n[alike]\n1 requests in the first night, 3 in the second\n"
        "   -1    +0 GET /users\nGET /users\n   -1    -1 page=1\n"
        "   +0    +3 POST /tokens\n"
        "\n[another]\n3 requests in the first night, 1 in the second\n"
    )


def test_equal_nights_have_no_difference() -> None:
    assert difference(nights(students=2), nights(students=2)) == ""


def test_new_and_more_frequent_requests_are_named() -> None:
    lines = difference(nights(students=3, terms=1), nights(students=2, grades=1)).splitlines()
    assert lines == [
        "first night: 4 requests, golden file: 3",
        "  +1 students (golden file: 2)",
        "  +1 terms (golden file: 0)",
        "  -1 grades (golden file: 1)",
        f"Some requests are new or more frequent. Only if that is meant, {RECORD_AGAIN}",
    ]


def test_fewer_requests_ask_for_a_recording() -> None:
    lines = difference(nights(students=1), nights(students=2)).splitlines()
    assert lines[-1] == f"Fewer requests and no new ones: {RECORD_AGAIN}"
