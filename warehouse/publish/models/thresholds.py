"""Thresholds of a home: rows of `$CAMPUS_HOME/thresholds/<seed>.csv` replace those of the seeds.

A row with a school_id is for that school, any other row for all schools of the home. `own_rows` in
`seeds/_seeds.yml` says which default rows a row replaces: those equal in some columns, or all of them. Where
single rows are replaced, a column that the file leaves out keeps its default.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

import duckdb

from untrusted.files import FileRefused, files_below, read_below
from warehouse.identifiers import quoted
from warehouse.publish.models.compiled_models import Check, Model, Project

FOLDER = "thresholds"
SCHOOL = "school_id"
LINE = "line"
#: Bytes of a file at most: 40,000 rows.
MAX_BYTES = 2_000_000
#: Mistakes of a file that are reported at most.
MAX_PROBLEMS = 20
#: Types as messages name them; all others are numbers.
TYPE_NAMES = {"bigint": "a whole number", "boolean": "true or false"}

#: A row of a seed as text, by column; empty: null.
Row = Mapping[str, str]


class ThresholdsWrong(Exception):
    """Files of thresholds with mistakes. `problems`: each with the file, its line, and what to do. They quote
    no cell and no heading."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Own:
    """The rows of a home's file, each with its line number."""

    path: Path
    seed: Model
    rows: tuple[tuple[int, Row], ...]


def version(home: Path) -> str:
    """A version of the thresholds of a home; empty: it has none."""
    state, files = hashlib.sha256(), _files(home)
    for path in files:
        state.update(path.name.encode())
        try:
            state.update(read_below(path.parent, path.name, max_bytes=MAX_BYTES).content)
        except FileRefused as error:
            # `read_own` reports it, and nothing is published.
            state.update(str(error).encode())
    return state.hexdigest()[:8] if files else ""


def read_own(home: Path, project: Project) -> tuple[Own, ...]:
    """Read and check all files of a home.

    Raises ThresholdsWrong with every mistake in all of them."""
    seeds = {model.name.partition(".")[2]: model for model in project.models if model.kind == "seed"}
    files, problems = list[Own](), list[str]()
    for path in _files(home):
        try:
            own = _read(path, seeds)
            _check(own, project.checks)
            files.append(own)
        except ThresholdsWrong as error:
            problems += error.problems
    if problems:
        raise ThresholdsWrong(problems)
    return tuple(files)


def with_own(project: Project, own: Iterable[Own], folder: Path) -> Project:
    """Merge a home's rows into the seeds of the project; `folder`: for the merged CSV files."""
    merged = dict[str, Model]()
    for file in own:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file.path.name
        _write(path, file.seed, (row for _, row in _merged(file)))
        merged[file.seed.name] = replace(file.seed, sql=str(path))
    return replace(project, models=tuple(merged.get(model.name, model) for model in project.models))


def _files(home: Path) -> list[Path]:
    return [home / FOLDER / name for name in files_below(home / FOLDER)]


def _read(path: Path, seeds: Mapping[str, Model]) -> Own:
    if path.suffix != ".csv" or path.stem not in seeds:
        hint = _suggestion(path.stem, seeds) or f"; there are {', '.join(sorted(seeds))}"
        raise ThresholdsWrong([f"{path}: only the CSV file of a table of thresholds belongs here{hint}"])
    seed = seeds[path.stem]
    lines = _lines(path)
    header = [name.strip() for name in lines[0]] if lines else []
    if problems := list(_wrong_header(header, seed)):
        raise _wrong(path, [(1, problem) for problem in problems])
    filled = [(number, cells) for number, cells in enumerate(lines[1:], 2) if any(map(str.strip, cells))]
    if not filled:
        raise ThresholdsWrong([f"{path} has no rows: delete it to use the default thresholds"])
    uneven = [number for number, cells in filled if len(cells) != len(header)]
    if uneven:
        raise _wrong(path, [(number, f"expected {len(header)} cells, as line 1 has") for number in uneven])
    rows = [(number, dict(zip(header, map(str.strip, cells), strict=True))) for number, cells in filled]
    own = Own(path, seed, tuple(rows))
    if wrong := sorted([*_wrong_values(own), *islice(_wrong_keys(own), MAX_PROBLEMS + 1)]):
        raise _wrong(path, wrong)
    return own


def _lines(path: Path) -> list[list[str]]:
    """The cells of each line. Raises ThresholdsWrong."""
    try:
        content = read_below(path.parent, path.name, max_bytes=MAX_BYTES).content
        text = content.decode("utf-8-sig")
        if "\0" not in text:
            return list(csv.reader(text.splitlines()))
    except FileRefused as error:
        raise ThresholdsWrong([str(error)]) from None
    except OSError as error:
        raise ThresholdsWrong([f"{path} cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ThresholdsWrong([f"{path} is not UTF-8: save it as CSV UTF-8"]) from None
    except csv.Error:
        pass
    raise ThresholdsWrong([f"{path} is not a CSV file: save it as CSV UTF-8"])


def _wrong(path: Path, problems: Sequence[tuple[int | None, str]]) -> ThresholdsWrong:
    """The error for the problems of some lines."""
    messages = [
        f"{path}, line {line}: {problem}" if line else f"{path}: {problem}" for line, problem in problems
    ]
    has_more = len(messages) > MAX_PROBLEMS
    return ThresholdsWrong([*messages[:MAX_PROBLEMS], *([f"{path} has more mistakes"] if has_more else [])])


def _wrong_header(header: Sequence[str], seed: Model) -> Iterator[str]:
    columns = [column.name for column in seed.columns]
    if len(header) == 1 and ";" in header[0]:
        yield "separate the columns by commas"
        return
    if len(header) > len(columns):
        yield f"expected at most {len(columns)} columns, {', '.join(columns)}"
        return
    for number, name in enumerate(header, 1):
        if name not in columns:
            hint = _suggestion(name, columns) or f"; there are {', '.join(columns)}"
            yield f"column {number} has no known heading{hint}"
    if len(set(header)) < len(header):
        yield "a column is there more than once"
    # A row that replaces a default row inherits columns left out; a set that replaces all rows needs them.
    needed = [name for name in seed.own_by or columns if name != SCHOOL]
    if missing := [name for name in needed if name not in header]:
        yield f"{', '.join(missing)} is missing"


def _wrong_values(own: Own) -> Iterator[tuple[int, str]]:
    """Cells that DuckDB would not read as the column's type."""
    types = {column.name: column.type or "varchar" for column in own.seed.columns}
    with closing(duckdb.connect()) as con:
        for name in own.rows[0][1]:
            texts = [row[name] for _, row in own.rows]
            read = con.execute(f"SELECT TRY_CAST(unnest(?::VARCHAR[]) AS {types[name]})", [texts]).fetchall()
            for (number, _), text, (value,) in zip(own.rows, texts, read, strict=True):
                # DuckDB also reads 101.4 as 101, but keys are compared as text.
                if text and (value is None or (types[name] == "bigint" and str(value) != text)):
                    yield number, f"{name}: expected {TYPE_NAMES.get(types[name], 'a number')}"


def _wrong_keys(own: Own) -> Iterator[tuple[int, str]]:
    """Rows with a key that occurs twice, or that no default row has."""
    by = own.seed.own_by
    if not by:
        return
    seen = dict[tuple[str, ...], int]()
    default_keys = {_key(row, by) for row in _defaults(own.seed)}
    names = ", ".join(by)
    for number, row in own.rows:
        key = (row.get(SCHOOL, ""), *_key(row, by))
        if key in seen:
            yield number, f"the same {names} as in line {seen[key]}"
        seen[key] = number
        if _key(row, by) in default_keys:
            continue
        if not own.seed.own_new_ones:
            value = ", ".join(_key(row, by))
            hint = _suggestion(value, [", ".join(default_key) for default_key in default_keys])
            yield number, f"there is no such {names}{hint}"
        elif missing := sorted({column.name for column in own.seed.columns} - {SCHOOL} - row.keys()):
            yield number, f"a new {names} needs every column; {', '.join(missing)} is missing"


def _check(own: Own, checks: Iterable[Check]) -> None:
    """Run the seed's own checks on the merged rows. Raises ThresholdsWrong."""
    problems = list[tuple[int | None, str]]()
    with closing(duckdb.connect()) as con:
        con.execute("ATTACH ':memory:' AS campus; CREATE SCHEMA campus.seeds")
        types = {column.name: column.type or "varchar" for column in own.seed.columns}
        columns = ", ".join(f"{quoted(name)} {type}" for name, type in types.items())
        table = f"campus.seeds.{quoted(own.path.stem)}"
        con.execute(f"CREATE TABLE {table} ({columns}, {LINE} BIGINT)")
        values = [[*(row.get(name) or None for name in types), number] for number, row in _merged(own)]
        con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * (len(types) + 1))})", values)
        for check in (check for check in checks if check.inputs == (own.seed.name,)):
            result = con.execute(check.sql)
            names = [column[0] for column in result.description or ()]
            for row in result.fetchall():
                line = dict(zip(names, row, strict=True)).get(LINE)
                problems.append((line, f"expected that {check.words or check.name}"))
    if problems:
        raise _wrong(own.path, problems)


def _merged(own: Own) -> Iterator[tuple[int | None, Row]]:
    """The seed's rows in force, each with its line in the home's file; None: a default row."""
    by, defaults = own.seed.own_by, _defaults(own.seed)
    for_all = [row for _, row in own.rows if not row.get(SCHOOL)]
    replaced = {_key(row, by) for row in for_all}
    for row in defaults:
        if _key(row, by) not in replaced:
            yield None, row
    replaceable = {_key(row, by): row for row in defaults if not row.get(SCHOOL)} if by else {}
    for number, row in own.rows:
        yield number, {**replaceable.get(_key(row, by), {}), SCHOOL: "", **row}


def _defaults(seed: Model) -> list[Row]:
    with Path(seed.sql).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, seed: Model, rows: Iterable[Row]) -> None:
    # Another process may have put a link there.
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [column.name for column in seed.columns], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def _key(row: Row, by: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.get(name, "") for name in by)


def _suggestion(name: str, names: Iterable[str]) -> str:
    close = get_close_matches(name, list(names), 1)
    return f"; is it {close[0]}?" if close else ""
