"""The command `campus extract`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.cli.command_options import SCHOOLS, check_parent_folder
from pipelines.cli.command_settings import read_settings, settings_for_writing
from pipelines.cli.terminal.display import example

if TYPE_CHECKING:
    from exports.extracts.plan import Protection


@click.command(
    epilog=example(
        "extract --pseudonymous --to study.duckdb --key-name study-2025",
        "extract --pseudonymous --to study.duckdb --dry-run",
        "extract --pseudonymous --to study.duckdb --protect strong --report study.json",
    )
)
@click.option("--pseudonymous", is_flag=True, help="Required: there is no other kind of extract.")
@click.option(
    "--to",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File to write, *.duckdb, readable by its owner alone.",
)
@SCHOOLS
@click.option(
    "--semester",
    "semesters",
    type=int,
    multiple=True,
    help="Only this semester, in tables that have one; may be repeated.",
)
@click.option(
    "--table", "tables", multiple=True, help="Only this table, as core.dim_student; may be repeated."
)
@click.option(
    "--key-name",
    help="Extracts of the same name have the same pseudonyms. Default: a new name, whose pseudonyms no other "
    "extract has.",
)
@click.option(
    "--protect",
    "protection",
    type=click.Choice(["standard", "strong"]),
    default="standard",
    show_default=True,
    help="standard: exact rows with keyed ids, which attendance or grades can join with another extract. "
    "strong: rows without ids, with weeks and bands, each equal to rows of at least 5 students.",
)
@click.option(
    "--report",
    "report_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write what became coarser or was left out, and how many students two or three days of absence "
    "single out, *.json.",
)
@click.option(
    "--hide-schools",
    is_flag=True,
    help="Replace the ids of schools, classes and other things by keyed ids, too, and drop their names.",
)
@click.option("--dry-run", is_flag=True, help="Show what becomes of each column, and write nothing.")
@click.option("--force", is_flag=True, help="Replace an existing extract, and its report.")
def extract(
    pseudonymous: bool,
    path: Path,
    schools: tuple[int, ...],
    semesters: tuple[int, ...],
    tables: tuple[str, ...],
    key_name: str | None,
    protection: Protection,
    report_path: Path | None,
    hide_schools: bool,
    dry_run: bool,
    force: bool,
) -> int:
    """Write core and marts without names, numbers and texts for researchers and vendors: people by keyed ids,
    small groups blank; or, with --protect strong, tables without any key of people."""
    if not pseudonymous:
        raise click.UsageError("say --pseudonymous: an extract names nobody, and there is no other kind")
    if dry_run and report_path is not None:
        raise click.UsageError("--report measures an extract that is written: leave out --dry-run")
    settings = read_settings() if dry_run else settings_for_writing()
    from exports.extracts.plan import ExtractRequest
    from pipelines.cli.actions.extract import run_extract

    if not dry_run:
        check_parent_folder(path)
        if report_path is not None:
            check_parent_folder(report_path)
    declared = settings.options.extracts.tables
    request = ExtractRequest(schools, semesters, tables, hide_schools, declared, protection)
    return run_extract(
        settings,
        request,
        path,
        key_name=key_name,
        report_path=report_path,
        replace=force,
        dry_run=dry_run,
    )
