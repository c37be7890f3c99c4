"""Texts of a platform cannot control a terminal or run as a formula in a spreadsheet program."""

import csv
import io
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from campus.http.events import Event
from pipelines.cli.terminal import display, progress, rows
from pipelines.terminal import VisibleConsole, visible
from writeback.outcomes import RowOutcome, write_outcomes

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2066王"
SHOWN = "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202egnp\\u2066王"
CONTROLS = "\x1b\x07\x9b\u202e\u2066"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replace the output by a terminal. No fixture, since pytest replaces the output again after fixtures."""
    stream = Terminal()
    console = VisibleConsole(file=stream, width=200, highlight=False, no_color=True)
    for module in (display, progress, rows):
        monkeypatch.setattr(module, "console", console)
        monkeypatch.setattr(module, "errors", console, raising=False)
    monkeypatch.setattr("sys.stdout", stream)
    return stream


def test_control_characters_are_written_out() -> None:
    assert visible(EVIL) == SHOWN
    assert visible("a\tb\nc é 王 👍") == "a\tb\nc é 王 👍"
    assert visible("\r\u2028\u200f\x7f") == "\\x0d\\u2028\\u200f\\x7f"


@pytest.mark.parametrize("style", ["table", "csv", "json"])
def test_no_format_prints_control_characters(monkeypatch: pytest.MonkeyPatch, style: str) -> None:
    stream = terminal(monkeypatch)
    rows.print_rows(["name", EVIL], [[EVIL, 1]], style)
    printed = stream.getvalue()
    # Rich styles the header of a table with control characters of its own.
    assert not set(CONTROLS) & set(re.sub("\x1b\\[[0-9;]*m", "", printed))
    assert "owned" in printed


def test_messages_and_titles_print_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    display.complain(EVIL)
    display.show(EVIL, ["a"], [[EVIL], [Text(EVIL)]])
    view = progress.Progress()
    view.listen(Event("throttled", EVIL))
    view.listen(Event("note", EVIL))
    view.listen(Event("note", f"school 101: {EVIL}"))
    view.close()
    display.console.print(view.live_view())
    printed = stream.getvalue()
    assert "\x07" not in printed and "\x9b" not in printed and "\u202e" not in printed
    assert "\x1b]" not in printed and "\x1b[2J" not in printed
    assert printed.count("owned") >= 6


FORMULAS = [
    *("=1+1", "+1", "-5", "@x", "\tx", "\rx", "＝1", "'x", "-"),
    *("|=1+2", "\ufeff=1+2", "\u200b\ufeff@x", ' "=1', ";+1", "%-1", "\u3000=1", "\xa0=1"),
]
TEXTS = ["x=1", "1-2", "王=|", "|x", "\ufeffx", '"x"', "", " "]


def test_csv_of_a_query_runs_no_formula(capsys: pytest.CaptureFixture[str]) -> None:
    rows.print_rows(["text", "=name"], [[text, text] for text in (*FORMULAS, *TEXTS)], "csv")
    header, *records = csv.reader(io.StringIO(capsys.readouterr().out, newline=""))
    assert header == ["text", "'=name"]
    assert [row[0] for row in records] == [*(f"'{text}" for text in FORMULAS), *TEXTS]


def test_csv_and_json_print_exact_values(capsys: pytest.CaptureFixture[str]) -> None:
    values: list[Any] = [-5, Decimal("-1.50"), -2.5, None, True]
    rows.print_rows(list("abcde"), [values], "csv")
    assert capsys.readouterr().out.splitlines()[1] == "-5,-1.50,-2.5,,True"
    rows.print_rows(["a"], [["=1+1"], [EVIL]], "json")
    assert json.loads(capsys.readouterr().out) == [{"a": "=1+1"}, {"a": EVIL}]


def test_result_files_have_no_formula_or_id_number(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    number = "110101199003071233"
    write_outcomes(path, [RowOutcome(2, "=cmd|x", "refused", "@said"), RowOutcome(3, number, "written")])
    with path.open(encoding="utf-8-sig", newline="") as file:
        records = list(csv.reader(file))[1:]
    assert records == [["2", "'=cmd|x", "refused", "'@said"], ["3", "(withheld)", "written", ""]]
