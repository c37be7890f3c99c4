"""Planted faults: their kinds, their planting, and the process that looks for a test that fails."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.faults.drawing import python_faults, sql_faults
from tools.faults.fault import Fault, FaultMissing, planted
from tools.faults.together import try_in_tree
from tools.faults.trial import RUNNER, Records, Trial, files_for
from tools.worktree import make_environment

MODULE = '''"""A module."""

LEFT = 3 > 2


def sizes(pages: list[int] = [1], *, limit: int = 5) -> int:
    total = 0
    for page in pages:
        if page < 0 and limit:
            raise ValueError(f"page {page + 1}")
        if not page:
            continue
        total = max(total, page + 2)
    log(total, size=True)
    return total
'''


def changes(faults: Iterator[Fault]) -> set[tuple[str, str]]:
    return {(fault.kind, fault.changed.strip()) for fault in faults}


def test_faults_of_a_function() -> None:
    """What stands outside of bodies, in messages and in defaults, is left alone."""
    faults = list(python_faults("pages.py", MODULE))
    assert changes(iter(faults)) == {
        ("constant", "total = 1"),
        ("condition", "if not (page < 0 and limit):"),
        ("comparison", "if page <= 0 and limit:"),
        ("logic", "if page < 0 or limit:"),
        ("constant", "if page < 1 and limit:"),
        ("raise", "pass"),
        ("condition", "if not (not page):"),
        ("logic", "if page:"),
        ("loop", "break"),
        ("function", "total = min(total, page + 2)"),
        ("arithmetic", "total = max(total, page - 2)"),
        ("constant", "total = max(total, page + 3)"),
        ("statement", "pass"),
        ("constant", "log(total, size=False)"),
        ("keyword", "log(total, )"),
        ("return", "return None"),
    }
    for fault in faults:
        lines = MODULE.splitlines()
        assert lines[fault.line - 1] == fault.text
        lines[fault.line - 1] = fault.changed
        ast.parse("\n".join(lines))


def test_faults_of_a_model() -> None:
    """Lines that the compiler writes anew, comments, and lines that stand twice, are left alone."""
    text = "-- a <= 1\nselect max(a) as a\nfrom {{ ref('b') }} left join c\nwhere a <= 1 -- most\nor b\nor b"
    compiled = text.replace("{{ ref('b') }}", "core.b")
    assert changes(sql_faults("a.sql", text, compiled)) == {
        ("aggregate", "select min(a) as a"),
        ("comparison", "where a < 1"),
        ("number", "where a <= 1 + 1"),
    }


def test_planted_fault_ends_with_its_block(tmp_path: Path) -> None:
    path = tmp_path / "pages.py"
    path.write_text(MODULE)
    before = path.stat().st_mtime_ns
    fault = Fault("pages.py", 20, "logic", "        if not page:", "        if page:")
    with planted([fault], tmp_path, 1):
        assert path.read_text() == MODULE.replace("if not page:", "if page:")
        assert path.stat().st_mtime_ns != before
    assert (path.read_text(), path.stat().st_mtime_ns) == (MODULE, before)
    path.write_text("")
    with pytest.raises(FaultMissing, match="has no such line now"), planted([fault], tmp_path, 1):
        pass


def test_tests_of_the_faulty_statement_run_nearest_first(tmp_path: Path) -> None:
    paths = ("tests/campus/pages/test_a.py", "tests/campus/test_b.py", "tests/test_c.py", "tests/test_d.py")
    for path in ("campus/pages/sizes.py", *paths):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("def f(a, b):\n    return f(\n        a,\n        b,\n    )\n")
    fault = Fault("campus/pages/sizes.py", 4, "keyword", "        b,", "        ")
    records = Records(
        {"campus/pages/sizes.py": {1: [paths[3]], 2: [*paths[:3], "tests/test_gone.py"]}},
        {paths[0]: 9.0, paths[1]: 1.0, paths[2]: 0.5},
    )
    assert files_for(fault, records, tmp_path) == list(paths[:3])


def test_runner_names_the_first_test_that_fails(tmp_path: Path) -> None:
    """A test that hangs counts, and so does a file that cannot be read."""
    contents = {
        "test_good.py": "def test_good(): pass",
        "test_bad.py": "def test_good(): pass\ndef test_bad(): assert 0\ndef test_worse(): assert 0",
        "test_hanging.py": "import time\ndef test_hanging(): time.sleep(3600)",
        "test_broken.py": "import no_such_module",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    requests = [
        {"files": ["test_good.py", "test_bad.py"], "excluded": [], "seconds": 600},
        {"files": ["test_bad.py"], "excluded": ["test_bad.py::test_bad"], "seconds": 600},
        {"files": ["test_good.py"], "excluded": [], "seconds": 600},
        {"files": ["test_hanging.py"], "excluded": [], "seconds": 1},
        {"files": ["test_broken.py"], "excluded": [], "seconds": 600},
    ]
    ended = subprocess.run(
        [sys.executable, RUNNER, "not slow"],
        input="".join(f"{json.dumps(request)}\n" for request in requests),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    failed_tests = [json.loads(line)["failed_test"] for line in ended.stdout.splitlines()]
    assert failed_tests == [
        *("test_bad.py::test_bad", "test_bad.py::test_worse", ""),
        *("none ended within 1 s", "test_broken.py"),
    ]


def test_faults_planted_together_are_told_apart(tmp_path: Path) -> None:
    """Others fail without faults, or only after the test before them. One file cannot be read."""
    make_environment(tmp_path / ".venv", tmp_path)
    lines = [f"def size_{number}(): return {number}" for number in range(5)]
    (tmp_path / "sizes.py").write_text("\n".join(lines))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\npythonpath = .\n")
    tests = [
        "from sizes import *",
        "def test_broken(): assert 0",
        "def test_first(): assert size_1() == 1",
        "SIZES = []",
        "def test_before(): SIZES.append(size_3())",
        "def test_after(): assert not SIZES or SIZES == [3]",
    ]
    (tmp_path / "test_sizes.py").write_text("\n".join(tests[:3]))
    (tmp_path / "test_later_sizes.py").write_text("\n".join([tests[0], *tests[3:]]))
    (tmp_path / "test_unreadable.py").write_text("import no_such_module")
    faults = [
        Fault("sizes.py", number + 1, "constant", line, line[:-1] + "9") for number, line in enumerate(lines)
    ]
    gone = Fault("sizes.py", 1, "constant", "no such line", "")
    trials: list[Trial] = []
    files = ["test_sizes.py", "test_later_sizes.py", "test_unreadable.py"]
    try_in_tree([*faults, gone], tmp_path, ["-n", "0", *files], trials.append)
    assert {(trial.fault.line, trial.failed_test) for trial in trials} == {
        (2, "test_sizes.py::test_first"),
        (4, "test_later_sizes.py::test_after"),
    }
