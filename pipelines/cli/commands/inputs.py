"""The commands `campus inputs check` and `campus inputs template`."""

from pathlib import Path

import click

from pipelines.cli.command_groups import Group
from pipelines.cli.command_options import SCHOOLS, check_parent_folder
from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example


@click.group(cls=Group, epilog=example("inputs check"))
def inputs() -> None:
    """Check the files that a school keeps itself in $CAMPUS_HOME/inputs, or begin one."""


@inputs.command("check", epilog=example("inputs check", "inputs check --school 101"))
@SCHOOLS
def check_inputs(schools: tuple[int, ...]) -> int:
    """Check each school's log of talks and measures as the next load would, and the mail addresses of its
    teachers as `campus deliver` would. Each refused line is named; nothing is loaded or sent."""
    settings = read_settings()
    from pipelines.cli.actions.inputs import run_check

    return run_check(settings, schools)


@inputs.command("template", epilog=example("inputs template interventions.xlsx --language zh"))
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--language", type=click.Choice(["zh", "en"]), help="Of the headings; else exports.language.")
def write_template(path: Path, language: str | None) -> int:
    """Write an empty log of talks and measures to PATH, which ends with .csv or .xlsx."""
    if path.suffix.lower() not in (".csv", ".xlsx"):
        raise click.UsageError(f"{path}: expected a name that ends with .csv or .xlsx")
    check_parent_folder(path)
    settings = read_settings()
    from pipelines.cli.actions.inputs import run_template

    return run_template(path, language or settings.options.exports.language)
