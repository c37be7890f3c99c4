"""The page of the commands says what `--help` says."""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from pipelines.cli.main import SECTIONS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_page_is_current() -> None:
    if os.environ.get("CAMPUS_WRITE_COMMANDS"):
        PAGE.write_text(_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == _page(), "run: make commands-page"


def _page() -> str:
    lines = [
        "# Commands",
        "",
        "What `campus --help` says, command by command; `make commands-page` writes this page.",
        "Exit status: 0 all done, 1 something failed, 2 bad settings or usage, 130 interrupted.",
    ]
    for title, commands in SECTIONS.items():
        lines += ["", f"## {title}"]
        for command in commands:
            lines += _command(f"campus {command.name}", command)
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    options = [
        record
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) and "--help" not in record[0]
    ]
    pieces = [piece for piece in command.collect_usage_pieces(context) if options or piece != "[OPTIONS]"]
    usage = " ".join([name, *pieces])
    examples = [
        line.strip() for line in (command.epilog or "").splitlines() if line.strip().startswith("campus ")
    ]
    yield from ("", f"### {name}", "", " ".join((command.help or "").split()), "")
    yield from (f"    {line}" for line in dict.fromkeys((usage, *examples)))
    if options:
        yield from ("", "| option | |", "|---|---|")
        for names, text in options:
            yield f"| `{_cell(names)}` | {_cell(text)} |"
    if isinstance(command, click.Group):
        for part in command.commands.values():
            yield from _command(f"{name} {part.name}", part)


def _cell(text: str) -> str:
    """The text without what ends a cell of a table."""
    return " ".join(text.replace("|", ", ").split())
