"""What the terminal shows of queries and of help."""

import io
import re
from collections import Counter
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from pipelines.cli.main import SECTIONS, main
from pipelines.cli.terminal import rows
from pipelines.cli.terminal.rows import print_rows
from warehouse.publish.models.dbt_project import PROJECT


def test_a_long_table_is_cut_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(["n"], [(n,) for n in range(1_200)], "table")
    shown = capsys.readouterr()
    assert "999" in shown.out and "1000" not in shown.out
    assert shown.err == "1,000 of 1,200 rows; --format csv has all\n"


@pytest.mark.parametrize(("width", "lines"), [(80, 0), (12, 6)])
def test_what_does_not_fit_a_terminal_is_a_line_a_value(
    width: int, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = io.StringIO()
    terminal = Console(file=shown, width=width, force_terminal=True, color_system=None, highlight=False)
    monkeypatch.setattr(rows, "console", terminal)
    print_rows(["学生", "reason"], [("陈一", "absent"), ("李二", None)], "table")
    upright = shown.getvalue().splitlines()
    assert len(upright) == lines
    if upright:
        assert [line.rstrip() for line in upright if not line.startswith("──")] == [
            "学生   陈一",
            "reason absent",
            "学生   李二",
            "reason NULL",
        ]
    else:
        assert "陈一" in capsys.readouterr().out


def commands(group: click.Group, *above: str) -> Iterator[list[str]]:
    for name, command in group.commands.items():
        yield [*above, name]
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


@pytest.mark.parametrize("command", [[], *commands(main)], ids=" ".join)
def test_help_is_whole_and_has_an_example(command: list[str]) -> None:
    done = CliRunner().invoke(main, [*command, "--help"])
    assert done.exit_code == 0
    assert "Example:" in done.output
    tables = re.findall(r"\b(?:core|marts)[.](\w+)", done.output)
    assert [table for table in tables if not list((PROJECT / "models").rglob(f"{table}.sql"))] == []
    listed = done.output.partition("\nCommands:")[2]
    assert "..." not in listed


def test_each_command_is_in_one_section_of_the_help() -> None:
    listed = [command.name for commands in SECTIONS.values() for command in commands]
    assert Counter(listed) == Counter([*main.commands])
    shown = CliRunner().invoke(main, ["--help"]).output
    assert all(f"\n{title}:\n" in shown for title in SECTIONS)
    assert max(map(len, shown.splitlines())) <= 80
