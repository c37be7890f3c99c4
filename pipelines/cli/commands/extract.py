"""The command `campus extract`."""

from pathlib import Path

import click

from pipelines.cli.command_options import SCHOOLS, check_parent_folder
from pipelines.cli.command_settings import read_settings, settings_for_writing
from pipelines.cli.terminal.display import example


@click.command(
    epilog=example(
        "extract --pseudonymous --to study.duckdb --key-name study-2025",
        "extract --pseudonymous --to study.duckdb --dry-run",
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
    help="Extracts of the same name have the same pseudonyms. Default: a new name, so that nobody can join "
    "this extract with another.",
)
@click.option(
    "--hide-schools",
    is_flag=True,
    help="Replace the ids of schools, classes and other things by keyed ids, too, and drop their names.",
)
@click.option("--dry-run", is_flag=True, help="Show what becomes of each column, and write nothing.")
@click.option("--force", is_flag=True, help="Replace an existing extract.")
def extract(
    pseudonymous: bool,
    path: Path,
    schools: tuple[int, ...],
    semesters: tuple[int, ...],
    tables: tuple[str, ...],
    key_name: str | None,
    hide_schools: bool,
    dry_run: bool,
    force: bool,
) -> int:
    """Write core and marts without names, numbers and texts for researchers and vendors: people by keyed ids,
    small groups blank."""
    if not pseudonymous:
        raise click.UsageError("say --pseudonymous: an extract names nobody, and there is no other kind")
    settings = read_settings() if dry_run else settings_for_writing()
    from exports.extracts.plan import Request
    from pipelines.cli.actions.extract import run_extract

    if not dry_run:
        check_parent_folder(path)
    request = Request(schools, semesters, tables, hide_schools, settings.options.extracts.tables)
    return run_extract(settings, request, path, key_name=key_name, replace=force, dry_run=dry_run)
