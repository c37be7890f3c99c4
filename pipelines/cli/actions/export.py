"""The work of `campus export`, and the options that it shares with the assets of the same files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from campus.files.table_file import TableError
from exports.export import OF_THE_FILE, Failed, Options, Unknown, Written, export
from exports.names import ONEROSTER
from exports.oneroster.write import Content
from exports.schema import Dialect
from exports.site.folders import READERS, SITE, WORKBOOK, WRITTEN, Role, pages_in
from exports.source import schools as published_schools
from exports.spreadsheet.sheets import Format
from pipelines.cli.terminal.display import fail, print_error, print_line
from pipelines.deliveries.addresses import addresses_file, addresses_of
from pipelines.publication.published_file import why_unreadable
from pipelines.settings.settings import Settings
from warehouse.published.reading import opened
from warehouse.published.shards import PublicationBroken


def run_export(
    settings: Settings,
    names: Sequence[str],
    *,
    format: Format | None = None,
    folder: Path | None = None,
    roles: Sequence[Role] = (),
    schools: Sequence[int] = (),
    dialect: Dialect = "duckdb",
) -> int:
    """Write files and print their paths. `names` empty: those of campus.yaml. Returns the exit status."""
    if problem := why_unreadable(settings.published):
        return fail(problem)
    options = export_options(settings, format, folder)
    if names:
        options = replace(options, roles=tuple(roles) or ("head",), is_nightly=False, dialect=dialect)
    names = names or configured_names(settings)
    school_ids = schools or settings.school_ids
    ends = []
    try:
        if ONEROSTER in names and settings.options.exports.oneroster.email == "readers":
            addresses = _addresses(settings, school_ids)
            options = replace(options, oneroster=replace(options.oneroster, email=addresses))
        for end in export(settings.published, names, school_ids, options):
            _report(end)
            ends.append(_status(end))
    except (duckdb.Error, PublicationBroken, TableError) as error:
        return fail(error)
    if not ends:
        print_line(f"Nothing to write: the published file has no {', '.join(names) or 'exports'}.")
    return max(ends, default=0)


def configured_names(settings: Settings) -> list[str]:
    """The workbooks, tables and site that campus.yaml names."""
    options = settings.options.exports
    return [*options.workbooks, *options.tables, *([SITE] if options.site else [])]


def export_options(settings: Settings, format: Format | None = None, folder: Path | None = None) -> Options:
    """How files are written. Old files are deleted in the home only, never in another folder."""
    options = settings.options.exports
    return Options(
        folder=folder or settings.home / "exports",
        format=format or options.format,
        language=options.language,
        keep=None if folder else options.keep,
        names=options.board_names,
        guardians=options.guardians,
        oneroster=Content(
            version=options.oneroster.version,
            demographics=options.oneroster_demographics,
            email="platform" if options.oneroster.email == "platform" else None,
        ),
        roles=options.site,
        is_nightly=folder is None,
        owners=settings.options.ui.owners,
    )


def _addresses(settings: Settings, school_ids: Sequence[int] | None) -> dict[int, Mapping[str, str]]:
    """The addresses of staff in the schools' files, by school and staff number. Prints refused lines.

    Raises TableError."""
    addresses: dict[int, Mapping[str, str]] = {}
    with opened(settings.published) as con:
        for school_id in school_ids or [school.id for school in published_schools(con)]:
            path = addresses_file(settings.home, school_id)
            if not os.path.lexists(path):
                print_error(
                    f"{path} does not exist: the staff of school {school_id} have no addresses. Write it, or "
                    "set exports.oneroster.email of campus.yaml otherwise"
                )
                continue
            read = addresses_of(settings.home, con, school_id)
            for line, reason in read.refused:
                print_error(f"{path}, line {line}: {reason}")
            addresses[school_id] = read.of_staff
    return addresses


def _report(end: Written | Failed) -> None:
    if isinstance(end, Failed):
        print_error(f"{end.subject}: {end.problem}")
        return
    if end.name == SITE:
        print_line(
            f"{end.path}: {pages_in(end.rows):,} pages, {end.rows.get(WRITTEN, 0):,} files new or changed"
        )
        return
    if end.name == WORKBOOK:
        print_line(f"{end.path}: {end.rows[WRITTEN]:,} workbooks for {end.rows[READERS]:,} teachers")
        return
    if end.name in OF_THE_FILE:
        print_line(f"{end.path}: {end.rows['tables']:,} tables")
        return
    count = f"{sum(end.rows.values()):,} rows" if any(end.rows.values()) else "no rows, and the file says so"
    print_line(f"{end.path}: {count}")


def _status(end: Written | Failed) -> int:
    """The exit status; a wrong name is wrong usage, or a mistake in campus.yaml."""
    return 2 if isinstance(end, Unknown) else int(isinstance(end, Failed))
