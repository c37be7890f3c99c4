"""The command `campus export`."""

from pathlib import Path
from typing import cast, get_args

import click

from exports.schema import SCHEMA, Dialect
from exports.site.folders import SITE, WORKBOOK, Role
from exports.spreadsheet.sheets import Format
from pipelines.cli.command_options import SCHOOLS, check_parent_folder
from pipelines.cli.command_settings import read_settings, settings_for_writing
from pipelines.cli.terminal.display import example


@click.command(epilog=example("export --all", "export marts.early_warning --school 101 --format csv"))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "configured", is_flag=True, help="All that `exports` of campus.yaml names.")
@click.option(
    "--format", type=click.Choice(get_args(Format)), help="Default: `exports.format` of campus.yaml."
)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write to, made where the folder above is there; default $CAMPUS_HOME/exports.",
)
@click.option(
    "--for",
    "readers",
    type=click.Choice([*get_args(Role), *get_args(Dialect)]),
    multiple=True,
    help="Readers of the site or of workbooks, each with an own folder; can be repeated. Default: head. "
    "For schema, the database: duckdb (the default) or postgres.",
)
@SCHOOLS
def export(
    names: tuple[str, ...],
    configured: bool,
    format: Format | None,
    folder: Path | None,
    readers: tuple[str, ...],
    schools: tuple[int, ...],
) -> int:
    """Write NAME as a file for each school: board, a ready-made workbook, or a table such as
    marts.early_warning. The site is a folder of pages, from the school to each student. With --for,
    workbook writes a workbook for each class of each teacher, beside the pages. schema writes schema.sql:
    the tables of core and marts with their keys, for tools that draw or join them, in the SQL of DuckDB or,
    with --for postgres, of PostgreSQL. contract writes contract_core.yaml, and a file for each other schema:
    tables, meanings, keys and checks by the Open Data Contract Standard. oneroster is one zip of all chosen
    schools for other school systems."""

    if bool(names) == configured:
        raise click.UsageError("name what to export, or give --all")
    roles = cast(tuple[Role, ...], tuple(reader for reader in readers if reader in get_args(Role)))
    dialects = cast(tuple[Dialect, ...], tuple(reader for reader in readers if reader in get_args(Dialect)))
    if roles and not {SITE, WORKBOOK} & set(names):
        raise click.UsageError("--for says who reads the site: campus export site --for class-teacher")
    if WORKBOOK in names and (not roles or "head" in roles):
        raise click.UsageError(
            "workbook is for teachers: campus export workbook --for class-teacher. The head of school has "
            "attendance, grades and early_warning"
        )
    if dialects and SCHEMA not in names:
        raise click.UsageError(f"--for {dialects[0]} is for schema: campus export schema --for {dialects[0]}")
    if len(dialects) > 1:
        raise click.UsageError("schema.sql is for one database: give --for duckdb or --for postgres")
    settings = read_settings() if folder else settings_for_writing()
    from pipelines.cli.actions.export import run_export

    if folder is not None:
        check_parent_folder(folder)
    return run_export(
        settings,
        names,
        format=format,
        folder=folder,
        roles=roles,
        schools=schools,
        dialect=dialects[0] if dialects else "duckdb",
    )
