"""Thresholds of a home: files `$CAMPUS_HOME/thresholds/<seed>.csv`, whose rows go before those of the seeds.

A row with a school_id is for that school, any other for all schools of the home. What it replaces is said of
each seed in `seeds/_seeds.yml` (`own_rows`): the default row that is alike in some columns, or all default
rows together. Where rows are replaced one by one, a column that the file leaves out stays as it was.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import duckdb

from warehouse.identifiers import quoted
from warehouse.publish.compiled_models import Check, Model, Project

FOLDER = "thresholds"
SCHOOL = "school_id"
LINE = "line"

#: A row of a seed as text, by column; empty: null.
Row = Mapping[str, str]


class ThresholdsWrong(Exception):
    """Files of thresholds that make no sense. `problems`: a line each, with the file, its line and what to
    do."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Own:
    """The rows of one file, with the lines that they stand in."""

    path: Path
    seed: Model
    rows: tuple[tuple[int, Row], ...]


def version(home: Path) -> str:
    """A name for the thresholds of a home as they are; empty: it has none."""
    state, files = hashlib.sha256(), _files(home)
    for path in files:
        state.update(path.name.encode())
        state.update(path.read_bytes())
    return state.hexdigest()[:8] if files else ""


def read_own(home: Path, project: Project) -> tuple[Own, ...]:
    """The files of a home, each checked as a whole.

    Raises ThresholdsWrong with every mistake of all of them."""
    seeds = {model.name.partition(".")[2]: model for model in project.models if model.kind == "seed"}
    found, problems = list[Own](), list[str]()
    for path in _files(home):
        try:
            own = _read(path, seeds)
            _check(own, project.checks)
            found.append(own)
        except ThresholdsWrong as error:
            problems += error.problems
    if problems:
        raise ThresholdsWrong(problems)
    return tuple(found)


def with_own(project: Project, own: Iterable[Own], folder: Path) -> Project:
    """The project whose seeds have the rows of a home; the files that they are made of are in `folder`."""
    made = dict[str, Model]()
    for one in own:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / one.path.name
        _write(path, one.seed, (row for _, row in _merged(one)))
        made[one.seed.name] = replace(one.seed, sql=str(path))
    return replace(project, models=tuple(made.get(model.name, model) for model in project.models))


def _files(home: Path) -> list[Path]:
    """What somebody has put there; spreadsheet programs keep files beside that begin with these signs."""
    return sorted(path for path in (home / FOLDER).glob("[!.~]*") if path.is_file())


def _read(path: Path, seeds: Mapping[str, Model]) -> Own:
    if path.suffix != ".csv" or path.stem not in seeds:
        hint = _nearest(path.stem, seeds) or f"; there are {', '.join(sorted(seeds))}"
        raise ThresholdsWrong([f"{path}: only the CSV file of a table of thresholds belongs here{hint}"])
    seed = seeds[path.stem]
    try:
        lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except UnicodeDecodeError as error:
        raise ThresholdsWrong([f"{path} is not UTF-8: save it as CSV UTF-8"]) from error
    except csv.Error as error:
        raise ThresholdsWrong([f"{path} is no CSV file: {error}"]) from error
    header = [name.strip() for name in lines[0]] if lines else []
    if problems := list(_wrong_header(header, seed)):
        raise ThresholdsWrong([f"{path}, line 1: {problem}" for problem in problems])
    filled = [(number, cells) for number, cells in enumerate(lines[1:], 2) if any(map(str.strip, cells))]
    if not filled:
        raise ThresholdsWrong([f"{path} has no rows: delete it to have the default thresholds"])
    uneven = [number for number, cells in filled if len(cells) != len(header)]
    if uneven:
        raise ThresholdsWrong(
            [f"{path}, line {number}: expected {len(header)} cells, as line 1 has" for number in uneven]
        )
    rows = [(number, dict(zip(header, map(str.strip, cells), strict=True))) for number, cells in filled]
    own = Own(path, seed, tuple(rows))
    if wrong := sorted([*_wrong_values(own), *_wrong_keys(own)]):
        raise ThresholdsWrong([f"{path}, line {number}: {problem}" for number, problem in wrong])
    return own


def _wrong_header(header: Sequence[str], seed: Model) -> Iterator[str]:
    columns = [column.name for column in seed.columns]
    if len(header) == 1 and ";" in header[0]:
        yield "separate the columns by commas"
        return
    for name in header:
        if name not in columns:
            hint = _nearest(name, columns) or f"; there are {', '.join(columns)}"
            yield f"there is no column {name!r}{hint}"
    if len(set(header)) < len(header):
        yield "a column is there more than once"
    # Of a row that is replaced all that is not said stays; a set that is replaced has to be whole.
    needed = [name for name in seed.own_by or columns if name != SCHOOL]
    if missing := [name for name in needed if name not in header]:
        yield f"{', '.join(missing)} is missing"


def _wrong_values(own: Own) -> Iterator[tuple[int, str]]:
    """Text in numbers and the like, as DuckDB would read it."""
    types = {column.name: column.type or "varchar" for column in own.seed.columns}
    with closing(duckdb.connect()) as con:
        for number, row in own.rows:
            for name, text in row.items():
                [(read,)] = con.execute(f"SELECT TRY_CAST(? AS {types[name]})", [text]).fetchall()
                # DuckDB takes 101.4 for 101, too, and the keys are compared as text.
                if text and (read is None or (types[name] == "bigint" and str(read) != text)):
                    yield number, f"{name} is {text!r}, expected {_in_words(types[name])}"


def _wrong_keys(own: Own) -> Iterator[tuple[int, str]]:
    """Rows for the same twice, and rows for what is not there."""
    by = own.seed.own_by
    if not by:
        return
    seen = dict[tuple[str, ...], int]()
    known = {_key(row, by) for row in _defaults(own.seed)}
    names = ", ".join(by)
    for number, row in own.rows:
        key = (row.get(SCHOOL, ""), *_key(row, by))
        if key in seen:
            yield number, f"the same {names} as in line {seen[key]}"
        seen[key] = number
        if _key(row, by) not in known and not own.seed.own_new_ones:
            value = ", ".join(_key(row, by))
            hint = _nearest(value, [", ".join(each) for each in known])
            yield number, f"there is no {names} {value!r}{hint}"
        elif _key(row, by) not in known and len(row.keys() - {SCHOOL}) < len(_columns(own.seed) - {SCHOOL}):
            missing = sorted(_columns(own.seed) - {SCHOOL} - row.keys())
            yield number, f"a new {names} needs every column; {', '.join(missing)} is missing"


def _check(own: Own, checks: Iterable[Check]) -> None:
    """Run the seed's own checks on the merged rows. Raises ThresholdsWrong."""
    problems = list[str]()
    with closing(duckdb.connect()) as con:
        con.execute("ATTACH ':memory:' AS campus; CREATE SCHEMA campus.seeds")
        types = {column.name: column.type or "varchar" for column in own.seed.columns}
        columns = ", ".join(f"{quoted(name)} {type}" for name, type in types.items())
        table = f"campus.seeds.{quoted(own.path.stem)}"
        con.execute(f"CREATE TABLE {table} ({columns}, {LINE} BIGINT)")
        values = [[*(row.get(name) or None for name in types), number] for number, row in _merged(own)]
        con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * (len(types) + 1))})", values)
        for check in (check for check in checks if check.inputs == (own.seed.name,)):
            found = con.execute(check.sql)
            names = [column[0] for column in found.description or ()]
            for row in found.fetchall():
                line = dict(zip(names, row, strict=True)).get(LINE)
                where = f"{own.path}, line {line}" if line else str(own.path)
                problems.append(f"{where}: expected that {check.words or check.name}")
    if problems:
        raise ThresholdsWrong(problems)


def _merged(own: Own) -> Iterator[tuple[int | None, Row]]:
    """The rows of the seed as they are in force, each with its line in the home's own file."""
    by, defaults = own.seed.own_by, _defaults(own.seed)
    for_all = [row for _, row in own.rows if not row.get(SCHOOL)]
    replaced = {_key(row, by) for row in for_all}
    for row in defaults:
        if _key(row, by) not in replaced:
            yield None, row
    told = {_key(row, by): row for row in defaults if not row.get(SCHOOL)} if by else {}
    for number, row in own.rows:
        yield number, {**told.get(_key(row, by), {}), SCHOOL: "", **row}


def _defaults(seed: Model) -> list[Row]:
    with Path(seed.sql).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, seed: Model, rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [column.name for column in seed.columns], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def _key(row: Row, by: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.get(name, "") for name in by)


def _columns(seed: Model) -> set[str]:
    return {column.name for column in seed.columns}


def _in_words(type: str) -> str:
    return {"bigint": "a whole number", "boolean": "true or false"}.get(type, "a number")


def _nearest(name: str, known: Iterable[str]) -> str:
    alike = get_close_matches(name, list(known), 1)
    return f"; is it {alike[0]}?" if alike else ""
