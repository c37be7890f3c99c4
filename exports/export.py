"""Writes exports by name, school by school."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from filecmp import cmp
from importlib import metadata
from pathlib import Path

import duckdb
from xlsxwriter.exceptions import XlsxWriterException

from exports.contract import CONTRACT, contract_file, existing_schemas, write_contract
from exports.flat import preview_of, write_csv, write_parquet
from exports.names import BOARD, ONEROSTER, READY
from exports.oneroster.check import OneRosterRefused
from exports.oneroster.write import SOURCES as ONEROSTER_VIEWS
from exports.oneroster.write import Content, write_zip
from exports.pages.sections import Pages
from exports.ready import ready_workbooks
from exports.schema import SCHEMA, Dialect, write_schema
from exports.site.folders import (
    SITE,
    WORKBOOK,
    WRITTEN,
    Note,
    Role,
    delete_removed_roles,
    read_note,
    site_folder,
    write_note,
)
from exports.source import Origin, School, open_source, origins, schools
from exports.spreadsheet.columns import Unlabelled
from exports.spreadsheet.sheets import Format, Language, Workbook
from exports.spreadsheet.writer import SheetTooLarge, write_workbook
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
#: Whose files are about the published file as a whole, or about several schools.
ALL_SCHOOLS = "all schools"
#: Ids of schools in the name of a file.
MOST_IDS = 20
#: Errors that stop a file, but not the others.
FAILURES = (duckdb.Error, OSError, XlsxWriterException, SheetTooLarge, Exposed, OneRosterRefused, Unlabelled)


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
    subject: str
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
        run = ExportRun(con, options, scratch, cache_folder(published) / CACHE, proven_by(published, scratch))
        available = [*READY, BOARD, ONEROSTER, SITE, WORKBOOK, *OF_THE_FILE, *table_names(con)]
        full_names = [_full_name(name, available) for name in names]
        yield from (_unknown(name, available) for name in full_names if name not in available)
        yield from run.files([name for name in full_names if name in available], school_ids)


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


def _attempt(name: str, whose: str, files: Iterator[Written | Failed]) -> Iterator[Written | Failed]:
    """The files until an error stops them, and the error."""
    try:
        yield from files
    except FAILURES as error:
        message = unusable(error) if isinstance(error, OSError) else str(error)
        is_list = isinstance(error, OneRosterRefused)
        yield Failed(f"{name} of {whose}", message if is_list else message.partition("\n")[0])


@dataclass(frozen=True)
class ExportRun:
    """A run of exports of an opened published file."""

    con: duckdb.DuckDBPyConnection
    options: Options
    #: The folder for unfinished files.
    scratch: Path
    #: The folder for files that the next export needs, too.
    cache: Path
    #: As of `proven_by`.
    proven: Path
    #: The sources of single schools that were read.
    read: dict[int, Origin] = field(default_factory=dict)

    def files(self, names: Sequence[str], school_ids: Sequence[int] | None) -> Iterator[Written | Failed]:
        """Write the files of the available exports with these full names."""
        if SCHEMA in names:
            yield from _attempt(SCHEMA, ALL_SCHOOLS, self._schema())
        if CONTRACT in names:
            for schema in existing_schemas(self.con):
                yield from _attempt(CONTRACT, ALL_SCHOOLS, self._contract(schema))
        by_id = {school.id: school for school in schools(self.con)}
        requested = list(by_id) if school_ids is None else list(dict.fromkeys(school_ids))
        for school_id in requested:
            if school_id not in by_id:
                existing = ", ".join(map(str, by_id)) or "none"
                yield Failed(f"school {school_id}", f"not in the published file; there are: {existing}")
                continue
            for name in names:
                if name not in OF_SEVERAL:
                    files = self._files_of_school(name, by_id[school_id])
                    yield from _attempt(name, f"school {school_id}", files)
        together = [by_id[school_id] for school_id in requested if school_id in by_id]
        label = _label(requested, by_id)
        if BOARD in names and len(together) > 1:
            yield from _attempt(BOARD, ALL_SCHOOLS, self._board_of_all(together, label))
        # A receiver removes what bulk files lack, so they have all requested schools or are not written.
        if ONEROSTER in names and together and len(together) == len(requested):
            whose = f"schools {', '.join(str(school.id) for school in together)}"
            yield from _attempt(ONEROSTER, whose, self._oneroster(together, label))

    def _files_of_school(self, name: str, school: School) -> Iterator[Written | Failed]:
        whose = f"school {school.id}"
        if name == BOARD:
            yield self._board(school)
        elif name == SITE:
            yield from self._sites(school)
        elif name == WORKBOOK:
            for role in self.options.roles:
                yield from _attempt(f"{name} for {role}", whose, self._workbooks_of_role(school, role))
        else:
            for workbook in list(self._workbooks(name, school)):
                yield from _attempt(workbook.name, whose, self._workbook(name, workbook, school))

    def _origin(self, school: School) -> Origin:
        """The source of a school's rows, read once."""
        if school.id not in self.read:
            self.read.update(origins(self.con, self.proven, [school]))
        return self.read[school.id]

    def _workbooks(self, name: str, school: School) -> Iterator[Workbook]:
        """The workbooks that become a file each. Other formats than Excel have a file for each sheet."""
        if name not in READY:
            yield table_workbook(self.con, name)
            return
        for workbook in ready_workbooks(self.con, name, school.id, self.options.language):
            if self.options.format == "xlsx" or len(workbook.sheets) == 1:
                yield workbook
                continue
            for sheet in workbook.sheets:
                title = sheet.name.in_language(self.options.language)
                yield replace(workbook, name=f"{workbook.name}_{title}", sheets=(sheet,))

    def _workbook(self, name: str, workbook: Workbook, school: School) -> Iterator[Written]:
        """Write one file: of another format than Excel, its only sheet."""
        con, language, format = self.con, self.options.language, self.options.format
        origin = self._origin(school).made_of(source for sheet in workbook.sheets for source in sheet.sources)
        refuse_exposed(con, workbook.sheets, {"school_id": school.id})
        unfinished = self.scratch / f"unfinished.{format}"
        sheet = workbook.sheets[0]
        title = sheet.name.in_language(language)
        if format == "xlsx":
            written_sheets = write_workbook(con, workbook, origin, unfinished, language)
            rows = {written.tab: written.rows for written in written_sheets}
        elif format == "csv":
            rows = {title: write_csv(con, sheet, origin, unfinished, language)}
        else:
            rows = {title: write_parquet(con, sheet, origin, unfinished)}
        preview = preview_of(con, workbook, origin, language) if self.options.previews else ""
        beginning = f"{without_separators(workbook.name)}_{school.id}"
        yield self._dated(name, beginning, unfinished, origin.day, rows, preview)

    def _board(self, school: School) -> Written:
        # Only the board needs its libraries, which take a second to load.
        from exports.board.data import BOARD as board_data
        from exports.board.school import write_board

        options, origin = self.options, self._origin(school).made_of(board_data.sources)
        unfinished = self.scratch / "unfinished.html"
        rows, preview = write_board(
            self.con, origin, unfinished, options.language, self.cache, names=options.names
        )
        shown = preview if options.previews else ""
        return self._dated(BOARD, f"{BOARD}_{school.id}", unfinished, origin.day, rows, shown)

    def _board_of_all(self, together: Sequence[School], label: str) -> Iterator[Written]:
        """Write the page of these schools. Its date is the oldest date of a school."""
        from exports.board.data import BOARD as board_data
        from exports.board.schools import write_board_of_all

        by_id = origins(self.con, self.proven, together)
        sources = [origin.made_of(board_data.sources) for origin in by_id.values()]
        unfinished = self.scratch / "unfinished.html"
        rows = write_board_of_all(self.con, sources, unfinished, self.options.language, self.cache)
        yield self._dated(BOARD, f"{BOARD}_{label}", unfinished, min(origin.day for origin in sources), rows)

    def _oneroster(self, together: Sequence[School], label: str) -> Iterator[Written]:
        """Write the zip of these schools. Its date is the oldest date of a school."""
        unfinished = self.scratch / "unfinished.zip"
        rows = write_zip(self.con, [school.id for school in together], unfinished, self.options.oneroster)
        sources = origins(self.con, self.proven, together).values()
        day = min(origin.made_of(ONEROSTER_VIEWS).day for origin in sources)
        yield self._dated(ONEROSTER, f"{ONEROSTER}_{label}", unfinished, day, rows)

    def _sites(self, school: School) -> Iterator[Written | Failed]:
        """Write the site of each role. At night a site of the same data is not written again."""
        from exports.site.write import age_script

        options, origin = self.options, self._origin(school)
        folder = site_folder(options.folder, school.id)
        version = metadata.version("campus-warehouse")
        choices = (options.language, options.names, options.guardians, version)
        made_of = " ".join(map(str, (origin.generation, age_script(origin).strip(), *choices)))
        note = read_note(folder)
        if (
            options.is_nightly
            and note.made_of == made_of
            and all(role in note.roles and (folder / role).is_dir() for role in options.roles)
        ):
            for role in options.roles:
                yield _of_folder(SITE, folder / role, {**note.roles[role], WRITTEN: 0})
            return
        if options.is_nightly:
            write_note(folder, Note("", {role: {} for role in options.roles}))
        counts: dict[str, Mapping[str, int]] = {}
        for role in options.roles:
            for end in _attempt(f"{SITE} for {role}", f"school {school.id}", self._site(school, role)):
                if isinstance(end, Written):
                    counts[role] = end.rows
                yield end
        if options.is_nightly and len(counts) == len(options.roles):
            write_note(folder, Note(made_of, counts))

    def _site(self, school: School, role: Role) -> Iterator[Written]:
        from exports.site.write import write_role

        con, options, origin = self.con, self.options, self._origin(school)

        def write_board_page(path: Path, pages: Pages) -> bool:
            # The board's libraries take memory that the pages need before.
            from exports.board.school import write_board

            unfinished = self.scratch / "unfinished.html"
            linked = pages if options.names else None
            write_board(
                con, origin, unfinished, options.language, self.cache, names=options.names, pages=linked
            )
            if path.exists() and cmp(unfinished, path, shallow=False):
                return False
            put_in_place(unfinished, path)
            return True

        folder = site_folder(options.folder, school.id)
        counts = write_role(
            con, origin, folder, options.language, role, write_board_page, guardians=options.guardians
        )
        yield _of_folder(SITE, folder / role, counts)

    def _workbooks_of_role(self, school: School, role: Role) -> Iterator[Written]:
        from exports.site.workbooks import write_workbooks

        folder, language = site_folder(self.options.folder, school.id), self.options.language
        counts = write_workbooks(self.con, self._origin(school), folder, language, role, self.scratch)
        yield _of_folder(WORKBOOK, folder / role, counts)

    def _schema(self) -> Iterator[Written]:
        unfinished = self.scratch / "schema.sql"
        tables = write_schema(self.con, unfinished, self.options.dialect)
        yield self._finished(SCHEMA, unfinished, unfinished.name, {"tables": tables})

    def _contract(self, schema: str) -> Iterator[Written]:
        unfinished = self.scratch / contract_file(schema)
        tables = write_contract(self.con, unfinished, schema, self.options.owners)
        yield self._finished(CONTRACT, unfinished, unfinished.name, {"tables": tables})

    def _dated(
        self,
        name: str,
        beginning: str,
        unfinished: Path,
        day: date,
        rows: Mapping[str, int],
        preview: str = "",
    ) -> Written:
        """Move a file with a date in its name into the folder, and delete its old dates."""
        suffix, keep = unfinished.suffix, self.options.keep
        written = self._finished(name, unfinished, f"{beginning}_{day}{suffix}", rows, preview)
        if keep is not None:
            dated = re.compile(rf"{re.escape(beginning)}_\d{{4}}-\d\d-\d\d{re.escape(suffix)}")
            files = sorted(path for path in self.options.folder.iterdir() if dated.fullmatch(path.name))
            for old in files[:-keep]:
                old.unlink()
        return written

    def _finished(
        self, name: str, unfinished: Path, file_name: str, rows: Mapping[str, int], preview: str = ""
    ) -> Written:
        """Move a file into the folder."""
        target, size = self.options.folder / file_name, unfinished.stat().st_size
        put_in_place(unfinished, target)
        return Written(name, target, rows, size, preview)


def _of_folder(name: str, folder: Path, counts: Mapping[str, int]) -> Written:
    """The folder of a role that was written, with the size of its files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return Written(name, folder, counts, sum(path.stat().st_size for path in files), "")


def _label(requested: Sequence[int], existing: Collection[int]) -> str:
    """The schools in the name of a file that is about several: all, or their ids, or their number if they are
    many."""
    if set(requested) == set(existing) and len(requested) > 1:
        return "all"
    return "-".join(map(str, requested)) if len(requested) <= MOST_IDS else f"{len(requested)}-schools"
