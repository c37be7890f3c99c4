"""Exports by name: which there are, and their files, school by school."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, partial
from pathlib import Path

import duckdb
from xlsxwriter.exceptions import XlsxWriterException

from exports.flat import write_csv, write_parquet
from exports.preview import preview_of
from exports.ready import BOARD, READY
from exports.sheets import Format, Language, Workbook
from exports.source import Origin, School, opened, origin, schools
from exports.suppression import Exposed, refuse_exposed
from exports.tables import table_names, table_workbook
from exports.workbook import TooLarge, write_workbook
from warehouse.files import put_in_place, unusable, workspace
from warehouse.published.reading import kept_beside, proven_by
from warehouse.published.shards import Published

#: Beside the published file: what is made again by itself.
KEPT = "cache"
#: What file systems do not take in a name.
NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


@dataclass(frozen=True)
class Options:
    """How files are written. `keep`: dates of a file that are kept; None: all. `previews`: whether the first
    rows are wanted too; `names`: whether the board names students."""

    folder: Path
    format: Format = "xlsx"
    language: Language = "zh"
    keep: int | None = None
    previews: bool = False
    names: bool = True


@dataclass(frozen=True)
class Place:
    """Where what is unfinished waits, and what serves the next export, too, is kept. `origin`: where the rows
    of a school come from, read once."""

    scratch: Path
    kept: Path
    origin: Callable[[School], Origin]


@dataclass(frozen=True)
class Written:
    """A file that is in place. `rows`: by sheet. `preview`: the first rows of what is about no single person,
    in Markdown; empty where they were not wanted."""

    name: str
    path: Path
    rows: Mapping[str, int]
    bytes: int
    preview: str


@dataclass(frozen=True)
class Failed:
    """What was not written: `what` of which school, and why. A file from before is as it was."""

    what: str
    problem: str


@dataclass(frozen=True)
class Unknown(Failed):
    """A name that names nothing to export."""


def export(
    published: Published, names: Sequence[str], school_ids: Sequence[int] | None, options: Options
) -> Iterator[Written | Failed]:
    """Write files for each name and school. What fails holds nothing else up.

    `names`: ready-made files, or tables as schema.table; of a mart its own name does. `school_ids`: None:
    every school of the file.
    A name may have no file: a school without reports has no workbook of reports."""
    with workspace(options.folder) as scratch, opened(published, scratch) as con:
        proven = proven_by(published, scratch)
        place = Place(scratch, kept_beside(published) / KEPT, cache(partial(origin, con, proven)))
        known = [*READY, BOARD, *table_names(con)]
        names = [_in_full(name, known) for name in names]
        yield from (_unknown(name, known) for name in names if name not in known)
        found = {school.id: school for school in schools(con)}
        wanted = found if school_ids is None else school_ids
        for school_id in wanted:
            if school_id not in found:
                there = ", ".join(map(str, found)) or "none"
                yield Failed(f"school {school_id}", f"not in the published file; there are: {there}")
                continue
            for name in (name for name in names if name in known):
                yield from _of_school(con, name, found[school_id], place, options)
        together = [found[school_id] for school_id in wanted if school_id in found]
        if BOARD in names and len(together) > 1:
            yield from _tried(BOARD, "all schools", lambda: _board_of_all(con, together, place, options))


def _in_full(name: str, known: Sequence[str]) -> str:
    """The name with its schema, where it is that of a mart, or of one table alone."""
    found = [each for each in known if each.partition(".")[2] == name]
    mart = f"marts.{name}"
    if name in known or not (mart in found or len(found) == 1):
        return name
    return mart if mart in found else found[0]


def _unknown(name: str, known: Sequence[str]) -> Unknown:
    """Says which names are alike, and which there are: a line for what is ready-made and for each schema."""
    by_last = {each.rpartition(".")[2]: each for each in reversed(known)}
    alike = [by_last[each] for each in difflib.get_close_matches(name.rpartition(".")[2], by_last)]
    meant = f"; did you mean {' or '.join(alike)}?" if alike else "."
    groups: dict[str, list[str]] = {}
    for each in known:
        schema, _, last = each.rpartition(".")
        groups.setdefault(schema, []).append(last)
    listed = [f"  {schema or 'ready-made'}: {', '.join(names)}" for schema, names in groups.items()]
    return Unknown(name, "\n".join([f"there is no such export{meant} There are:", *listed]))


def _of_school(
    con: duckdb.DuckDBPyConnection, name: str, school: School, place: Place, options: Options
) -> Iterator[Written | Failed]:
    """Write the files of a school that go by a name. One that fails holds no other up."""
    whose = f"school {school.id}"
    if name == BOARD:
        yield from _tried(name, whose, lambda: _board(con, school, place, options))
        return
    try:
        workbooks = list(_workbooks(con, name, school, options))
    except duckdb.Error as error:
        yield _failed(name, whose, error)
        return
    for workbook in workbooks:
        write = partial(_export, con, name, workbook, school, place, options)
        yield from _tried(workbook.name, whose, write)


def _tried(what: str, whose: str, write: Callable[[], Written]) -> Iterator[Written | Failed]:
    try:
        yield write()
    except (duckdb.Error, OSError, XlsxWriterException, TooLarge, Exposed) as error:
        yield _failed(what, whose, error)


def _failed(what: str, whose: str, error: Exception) -> Failed:
    words = unusable(error) if isinstance(error, OSError) else str(error)
    return Failed(f"{what} of {whose}", words.partition("\n")[0])


def _export(
    con: duckdb.DuckDBPyConnection,
    name: str,
    workbook: Workbook,
    school: School,
    place: Place,
    options: Options,
) -> Written:
    sources = [source for sheet in workbook.sheets for source in sheet.sources]
    came_from = place.origin(school).made_of(sources)
    refuse_exposed(con, workbook.sheets, {"school_id": school.id})
    unfinished = place.scratch / f"unfinished.{options.format}"
    rows = _write(con, workbook, came_from, unfinished, options)
    preview = preview_of(con, workbook, came_from, options.language) if options.previews else ""
    beginning = f"{NOT_IN_NAMES.sub('_', workbook.name)}_{school.id}_"
    return _finished(name, beginning, unfinished, came_from.day, options, rows, preview)


def _board(con: duckdb.DuckDBPyConnection, school: School, place: Place, options: Options) -> Written:
    # Its libraries take a second to load, and nothing else needs them.
    from exports.board.page import write_board
    from exports.board.rows import SOURCES

    came_from = place.origin(school).made_of(SOURCES)
    unfinished = place.scratch / "unfinished.html"
    rows, said = write_board(con, came_from, unfinished, options.language, place.kept, names=options.names)
    return _finished(
        BOARD,
        f"{BOARD}_{school.id}_",
        unfinished,
        came_from.day,
        options,
        rows,
        said if options.previews else "",
    )


def _board_of_all(
    con: duckdb.DuckDBPyConnection, found: Sequence[School], place: Place, options: Options
) -> Written:
    """The page of all schools together, as old as the oldest of them."""
    from exports.board.rows import SOURCES
    from exports.board.schools import write_board_of_all

    origins = [place.origin(school).made_of(SOURCES) for school in found]
    unfinished = place.scratch / "unfinished.html"
    rows = write_board_of_all(con, origins, unfinished, options.language, place.kept)
    day = min(one.day for one in origins)
    return _finished(BOARD, f"{BOARD}_all_", unfinished, day, options, rows, "")


def _finished(
    name: str,
    beginning: str,
    unfinished: Path,
    day: date,
    options: Options,
    rows: Mapping[str, int],
    preview: str,
) -> Written:
    """Put a file in its place, and delete its old dates."""
    size, suffix = unfinished.stat().st_size, unfinished.suffix
    target = options.folder / f"{beginning}{day}{suffix}"
    put_in_place(unfinished, target)
    if options.keep is not None:
        _prune(options.folder, beginning, suffix, options.keep)
    return Written(name, target, rows, size, preview)


def _workbooks(
    con: duckdb.DuckDBPyConnection, name: str, school: School, options: Options
) -> Iterator[Workbook]:
    """What becomes a file each: workbooks as they are in Excel's format, and their sheets otherwise."""
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
    con: duckdb.DuckDBPyConnection, workbook: Workbook, came_from: Origin, path: Path, options: Options
) -> dict[str, int]:
    """Write one file. The rows by sheet."""
    if options.format == "xlsx":
        parts = write_workbook(con, workbook, came_from, path, options.language)
        return {part.tab: part.rows for part in parts}
    [sheet] = workbook.sheets
    if options.format == "csv":
        rows = write_csv(con, sheet, came_from, path, options.language)
    else:
        rows = write_parquet(con, sheet, came_from, path)
    return {sheet.name.in_language(options.language): rows}


def _prune(folder: Path, beginning: str, suffix: str, keep: int) -> None:
    """Delete all but the latest dates of a file."""
    dated = re.compile(rf"{re.escape(beginning)}\d{{4}}-\d\d-\d\d{re.escape(suffix)}")
    files = sorted(path for path in folder.iterdir() if dated.fullmatch(path.name))
    for old in files[:-keep]:
        old.unlink()
