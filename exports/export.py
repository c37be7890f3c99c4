"""Writes exports by name, school by school."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from filecmp import cmp
from functools import partial
from importlib import metadata
from pathlib import Path

import duckdb
from xlsxwriter.exceptions import XlsxWriterException

from exports.contract import CONTRACT, contract_file, existing_schemas, write_contract
from exports.flat import write_csv, write_parquet
from exports.oneroster.check import OneRosterRefused
from exports.oneroster.write import SOURCES as ONEROSTER_VIEWS
from exports.oneroster.write import Content, write_zip
from exports.preview import preview_of
from exports.ready import BOARD, ONEROSTER, READY
from exports.schema import SCHEMA, Dialect, write_schema
from exports.site.nightly import WRITTEN, Note, delete_removed_roles, read_note, site_folder, write_note
from exports.site.sections import SITE, WORKBOOK, Pages, Role
from exports.source import Origin, School, open_source, origins, schools
from exports.spreadsheet.columns import Unlabelled
from exports.spreadsheet.sheets import Format, Language, Workbook
from exports.spreadsheet.writer import TooLarge, write_workbook
from exports.suppression import Exposed, refuse_exposed
from exports.tables import table_names, table_workbook
from warehouse.files import put_in_place, unusable, without_separators, workspace
from warehouse.published.reading import cache_folder, proven_by
from warehouse.published.shards import Published

#: The exports about the published file as a whole.
OF_THE_FILE = (SCHEMA, CONTRACT)
#: Exports without a file for each school.
OF_SEVERAL = (*OF_THE_FILE, ONEROSTER)
#: The folder beside the published file for files that are made again when they are missing.
CACHE = "cache"
#: Ids of schools in the name of a file.
MOST_IDS = 20
#: Errors that stop a file, but not the others.
FAILURES = (duckdb.Error, OSError, XlsxWriterException, TooLarge, Exposed, OneRosterRefused, Unlabelled)


@dataclass(frozen=True)
class Options:
    """How files are written."""

    folder: Path
    format: Format = "xlsx"
    language: Language = "zh"
    #: The number of dates of a file to keep. None: all.
    keep: int | None = None
    #: Also returns the first rows.
    previews: bool = False
    #: The board names students and teachers.
    names: bool = True
    #: Pages of students show their guardians.
    guardians: bool = False
    #: What the files of OneRoster have.
    oneroster: Content = field(default_factory=Content)
    #: The readers of the site, each of whom gets an own folder.
    roles: tuple[Role, ...] = ("head",)
    #: `roles` are those of every night: skips a site that a nightly export has already written from the same
    #: data, and deletes what nightly exports have written for other roles.
    is_nightly: bool = False
    #: The owners of the data, as the contract names them.
    owners: tuple[str, ...] = ()
    #: The database that reads schema.sql.
    dialect: Dialect = "duckdb"


@dataclass(frozen=True)
class Workplace:
    """The folders and the sources of a run of exports."""

    #: For unfinished files.
    scratch: Path
    #: For files that the next export needs, too.
    cache: Path
    #: The sources of schools' rows by school id.
    origins: Callable[[Sequence[School]], dict[int, Origin]]
    #: The sources of single schools that were read.
    read: dict[int, Origin] = field(default_factory=dict)

    def origin(self, school: School) -> Origin:
        """The source of a school's rows, read once."""
        if school.id not in self.read:
            self.read.update(self.origins([school]))
        return self.read[school.id]


@dataclass(frozen=True)
class Written:
    """A file that was written."""

    name: str
    path: Path
    #: The number of rows by sheet.
    rows: Mapping[str, int]
    bytes: int
    #: The first rows of sheets without single persons, in Markdown. Empty where the options want none.
    preview: str


@dataclass(frozen=True)
class Failed:
    """A file that was not written. An earlier file is unchanged."""

    #: The export and its school.
    what: str
    problem: str


@dataclass(frozen=True)
class Unknown(Failed):
    """A name without an export."""


def export(
    published: Published, names: Sequence[str], school_ids: Sequence[int] | None, options: Options
) -> Iterator[Written | Failed]:
    """Write files for each name and school. A failure does not stop the others. A name may have no file: a
    school without reports has no workbook of reports.

    Args:
        names: Ready-made files, or tables as schema.table. A mart needs no schema.
        school_ids: None: every school of the published file."""
    with workspace(options.folder) as scratch, open_source(published, scratch) as con:
        if options.is_nightly:
            delete_removed_roles(options.folder, options.roles)
        proven = proven_by(published, scratch)
        place = Workplace(scratch, cache_folder(published) / CACHE, partial(origins, con, proven))
        available = [*READY, BOARD, ONEROSTER, SITE, WORKBOOK, *OF_THE_FILE, *table_names(con)]
        names = [_full_name(name, available) for name in names]
        yield from (_unknown(name, available) for name in names if name not in available)
        if SCHEMA in names:
            yield from _attempt(SCHEMA, "all schools", partial(_schema, con, place, options))
        for schema in existing_schemas(con) if CONTRACT in names else ():
            yield from _attempt(CONTRACT, "all schools", partial(_contract, con, schema, place, options))
        of_a_school = [name for name in names if name in available and name not in OF_SEVERAL]
        by_id = {school.id: school for school in schools(con)}
        requested = list(by_id) if school_ids is None else list(dict.fromkeys(school_ids))
        for school_id in requested:
            if school_id not in by_id:
                existing = ", ".join(map(str, by_id)) or "none"
                yield Failed(f"school {school_id}", f"not in the published file; there are: {existing}")
                continue
            for name in of_a_school:
                yield from _export_school(con, name, by_id[school_id], place, options)
        together = [by_id[school_id] for school_id in requested if school_id in by_id]
        label = _label(requested, by_id)
        if BOARD in names and len(together) > 1:
            yield from _attempt(
                BOARD, "all schools", lambda: _board_of_all(con, together, label, place, options)
            )
        # A receiver removes what bulk files lack, so they have all requested schools or are not written.
        if ONEROSTER in names and together and len(together) == len(requested):
            whose = f"schools {', '.join(str(school.id) for school in together)}"
            yield from _attempt(ONEROSTER, whose, lambda: _oneroster(con, together, label, place, options))


def _full_name(name: str, available: Sequence[str]) -> str:
    """The name with its schema, for a mart or for a table whose name is unique."""
    matches = [full_name for full_name in available if full_name.partition(".")[2] == name]
    mart = f"marts.{name}"
    if name in available or not (mart in matches or len(matches) == 1):
        return name
    return mart if mart in matches else matches[0]


def _unknown(name: str, available: Sequence[str]) -> Unknown:
    """A failure that names similar exports, and all exports by schema."""
    by_last = {full_name.rpartition(".")[2]: full_name for full_name in reversed(available)}
    similar = [by_last[last] for last in difflib.get_close_matches(name.rpartition(".")[2], by_last)]
    meant = f"; did you mean {' or '.join(similar)}?" if similar else "."
    groups: dict[str, list[str]] = {}
    for full_name in available:
        schema, _, last = full_name.rpartition(".")
        groups.setdefault(schema, []).append(last)
    listed = [f"  {schema or 'ready-made'}: {', '.join(names)}" for schema, names in groups.items()]
    return Unknown(name, "\n".join([f"there is no such export{meant} There are:", *listed]))


def _export_school(
    con: duckdb.DuckDBPyConnection, name: str, school: School, place: Workplace, options: Options
) -> Iterator[Written | Failed]:
    """Write the files of a name for a school. A failure does not stop the others."""
    whose = f"school {school.id}"
    try:
        if name == BOARD:
            yield from _attempt(name, whose, lambda: _board(con, school, place, options))
        elif name == SITE:
            yield from _sites(con, school, place, options)
        elif name == WORKBOOK:
            for role in options.roles:
                write_role = partial(_workbooks_of_role, con, school, role, place, options)
                yield from _attempt(f"{name} for {role}", whose, write_role)
        else:
            for workbook in list(_workbooks(con, name, school, options)):
                write = partial(_export, con, name, workbook, school, place, options)
                yield from _attempt(workbook.name, whose, write)
    except FAILURES as error:
        yield _failed(name, whose, error)


def _attempt(what: str, whose: str, write: Callable[[], Written]) -> Iterator[Written | Failed]:
    try:
        yield write()
    except FAILURES as error:
        yield _failed(what, whose, error)


def _failed(what: str, whose: str, error: Exception) -> Failed:
    words = unusable(error) if isinstance(error, OSError) else str(error)
    return Failed(
        f"{what} of {whose}", words if isinstance(error, OneRosterRefused) else words.partition("\n")[0]
    )


def _export(
    con: duckdb.DuckDBPyConnection,
    name: str,
    workbook: Workbook,
    school: School,
    place: Workplace,
    options: Options,
) -> Written:
    sources = [source for sheet in workbook.sheets for source in sheet.sources]
    source = place.origin(school).made_of(sources)
    refuse_exposed(con, workbook.sheets, {"school_id": school.id})
    unfinished = place.scratch / f"unfinished.{options.format}"
    rows = _write(con, workbook, source, unfinished, options)
    preview = preview_of(con, workbook, source, options.language) if options.previews else ""
    beginning = f"{without_separators(workbook.name)}_{school.id}_"
    return _place(name, beginning, unfinished, source.day, options, rows, preview)


def _board(con: duckdb.DuckDBPyConnection, school: School, place: Workplace, options: Options) -> Written:
    # Only the board needs its libraries, which take a second to load.
    from exports.board.page import write_board
    from exports.board.words import SOURCES

    source = place.origin(school).made_of(SOURCES)
    unfinished = place.scratch / "unfinished.html"
    rows, preview = write_board(con, source, unfinished, options.language, place.cache, names=options.names)
    return _place(
        BOARD,
        f"{BOARD}_{school.id}_",
        unfinished,
        source.day,
        options,
        rows,
        preview if options.previews else "",
    )


def _sites(
    con: duckdb.DuckDBPyConnection, school: School, place: Workplace, options: Options
) -> Iterator[Written | Failed]:
    """Write the site of each role. At night a site of the same data is not written again."""
    from exports.site.write import age_script

    folder, source = site_folder(options.folder, school.id), place.origin(school)
    options_of_pages = (
        *(options.language, options.names, options.guardians),
        metadata.version("campus-warehouse"),
    )
    made_of = " ".join(map(str, (source.generation, age_script(source).strip(), *options_of_pages)))
    note = read_note(folder)
    if (
        options.is_nightly
        and note.made_of == made_of
        and all(role in note.roles and (folder / role).is_dir() for role in options.roles)
    ):
        yield from (_of_folder(folder / role, {**note.roles[role], WRITTEN: 0}) for role in options.roles)
        return
    if options.is_nightly:
        write_note(folder, Note("", {role: {} for role in options.roles}))
    counts: dict[str, Mapping[str, int]] = {}
    for role in options.roles:
        write = partial(_site, con, school, role, place, options)
        for end in _attempt(f"{SITE} for {role}", f"school {school.id}", write):
            if isinstance(end, Written):
                counts[role] = end.rows
            yield end
    if options.is_nightly and len(counts) == len(options.roles):
        write_note(folder, Note(made_of, counts))


def _site(
    con: duckdb.DuckDBPyConnection, school: School, role: Role, place: Workplace, options: Options
) -> Written:
    from exports.site.write import write_role

    source = place.origin(school)

    def write_board_page(path: Path, pages: Pages) -> bool:
        # The board's libraries take memory that the pages need before.
        from exports.board.page import write_board

        unfinished = place.scratch / "unfinished.html"
        own = pages if options.names else None
        write_board(con, source, unfinished, options.language, place.cache, names=options.names, pages=own)
        if path.exists() and cmp(unfinished, path, shallow=False):
            return False
        put_in_place(unfinished, path)
        return True

    folder = site_folder(options.folder, school.id)
    counts = write_role(
        con, source, folder, options.language, role, write_board_page, guardians=options.guardians
    )
    return _of_folder(folder / role, counts)


def _workbooks_of_role(
    con: duckdb.DuckDBPyConnection, school: School, role: Role, place: Workplace, options: Options
) -> Written:
    from exports.site.workbooks import write_workbooks

    folder, source = site_folder(options.folder, school.id), place.origin(school)
    counts = write_workbooks(con, source, folder, options.language, role, place.scratch)
    return _of_folder(folder / role, counts, WORKBOOK)


def _of_folder(folder: Path, counts: Mapping[str, int], name: str = SITE) -> Written:
    """The folder of a role that was written, with the size of its files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return Written(name, folder, counts, sum(path.stat().st_size for path in files), "")


def _board_of_all(
    con: duckdb.DuckDBPyConnection,
    together: Sequence[School],
    label: str,
    place: Workplace,
    options: Options,
) -> Written:
    """Write the page of these schools. Its date is the oldest date of a school."""
    from exports.board.schools.page import write_board_of_all
    from exports.board.words import SOURCES

    sources = [source.made_of(SOURCES) for source in place.origins(together).values()]
    unfinished = place.scratch / "unfinished.html"
    rows = write_board_of_all(con, sources, unfinished, options.language, place.cache)
    day = min(source.day for source in sources)
    return _place(BOARD, f"{BOARD}_{label}_", unfinished, day, options, rows, "")


def _label(requested: Sequence[int], existing: Collection[int]) -> str:
    """The schools in the name of a file that is about several: all, or their ids, or their number if they are
    many."""
    if set(requested) == set(existing) and len(requested) > 1:
        return "all"
    return "-".join(map(str, requested)) if len(requested) <= MOST_IDS else f"{len(requested)}-schools"


def _schema(con: duckdb.DuckDBPyConnection, place: Workplace, options: Options) -> Written:
    unfinished = place.scratch / "schema.sql"
    tables = write_schema(con, unfinished, options.dialect)
    return _whole(SCHEMA, unfinished, options, tables)


def _contract(con: duckdb.DuckDBPyConnection, schema: str, place: Workplace, options: Options) -> Written:
    unfinished = place.scratch / contract_file(schema)
    tables = write_contract(con, unfinished, schema, options.owners)
    return _whole(CONTRACT, unfinished, options, tables)


def _whole(name: str, unfinished: Path, options: Options, tables: int) -> Written:
    """Move a file about the whole published file to its place."""
    target, size = options.folder / unfinished.name, unfinished.stat().st_size
    put_in_place(unfinished, target)
    return Written(name, target, {"tables": tables}, size, "")


def _oneroster(
    con: duckdb.DuckDBPyConnection,
    together: Sequence[School],
    label: str,
    place: Workplace,
    options: Options,
) -> Written:
    """Write the zip of these schools. Its date is the oldest date of a school."""
    unfinished = place.scratch / "unfinished.zip"
    schools = [school.id for school in together]
    rows = write_zip(con, schools, unfinished, options.oneroster)
    day = min(source.made_of(ONEROSTER_VIEWS).day for source in place.origins(together).values())
    return _place(ONEROSTER, f"{ONEROSTER}_{label}_", unfinished, day, options, rows, "")


def _place(
    name: str,
    beginning: str,
    unfinished: Path,
    day: date,
    options: Options,
    rows: Mapping[str, int],
    preview: str,
) -> Written:
    """Move a file to its place, and delete its old dates."""
    size, suffix = unfinished.stat().st_size, unfinished.suffix
    target = options.folder / f"{beginning}{day}{suffix}"
    put_in_place(unfinished, target)
    if options.keep is not None:
        _prune(options.folder, beginning, suffix, options.keep)
    return Written(name, target, rows, size, preview)


def _workbooks(
    con: duckdb.DuckDBPyConnection, name: str, school: School, options: Options
) -> Iterator[Workbook]:
    """The workbooks that become a file each. Other formats than Excel have a file for each sheet."""
    if name not in READY:
        yield table_workbook(con, name)
        return
    for workbook in READY[name](con, school.id, options.language):
        if options.format == "xlsx" or len(workbook.sheets) == 1:
            yield workbook
            continue
        for sheet in workbook.sheets:
            title = sheet.name.in_language(options.language)
            yield replace(workbook, name=f"{workbook.name}_{title}", sheets=(sheet,))


def _write(
    con: duckdb.DuckDBPyConnection, workbook: Workbook, source: Origin, path: Path, options: Options
) -> dict[str, int]:
    """Write one file. Returns the number of rows by sheet."""
    if options.format == "xlsx":
        parts = write_workbook(con, workbook, source, path, options.language)
        return {part.tab: part.rows for part in parts}
    [sheet] = workbook.sheets
    if options.format == "csv":
        rows = write_csv(con, sheet, source, path, options.language)
    else:
        rows = write_parquet(con, sheet, source, path)
    return {sheet.name.in_language(options.language): rows}


def _prune(folder: Path, beginning: str, suffix: str, keep: int) -> None:
    """Delete all but the latest dates of a file."""
    dated = re.compile(rf"{re.escape(beginning)}\d{{4}}-\d\d-\d\d{re.escape(suffix)}")
    files = sorted(path for path in folder.iterdir() if dated.fullmatch(path.name))
    for old in files[:-keep]:
        old.unlink()
