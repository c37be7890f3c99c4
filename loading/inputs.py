"""Loads the files that a school keeps itself: `$CAMPUS_HOME/inputs/<school>/interventions.csv`, or .xlsx, and
exported lists of early warning with notes beside it.

The files are the truth: a load replaces the school's slice. A line that is refused is in quarantine with its
reason, and the other lines load. A file that cannot be read, and a file that is gone, leave the rows as they
were."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from campus.files.table_file import TableError, file_below, table_in
from campus.inputs.interventions import (
    NOTE,
    TALK_DATE,
    Lines,
    Student,
    Students,
    gather,
    line_of,
    lines_of_list,
    read_lines,
)
from campus.registry import INTERVENTIONS, RESOURCES
from campus.sources.gathered import Gathered
from loading.connection.runtime import Runtime
from loading.slices.commit import Loaded, commit_slice
from loading.slices.loader import Loader, Plan, failures_as_outcomes, staged
from loading.slices.stage import SliceContext
from loading.tables import TABLES, read_rows, slice_of
from untrusted.files import files_below
from warehouse.files import unusable
from warehouse.lake.delta import Lake
from warehouse.lake.tables import DELETED_AT, Slice
from warehouse.load.logs.load_log import now

FOLDER = "inputs"
#: The addresses of teachers, which are no rows of the warehouse (campus/inputs/readers.py).
READERS_FILE = "readers.csv"
NAMES = tuple(f"{INTERVENTIONS.name}{ending}" for ending in (".csv", ".xlsx"))
#: The exported lists with notes, by the export's names of files.
LISTS = "early_warning*.xlsx"
STUDENTS = RESOURCES["students"]
STAYS = "its rows stay. Put it back, or leave a file with the headings alone"
#: The refused lines that a message has at most.
MAX_LINES = 5


def input_files(home: Path, school_id: int) -> list[Path]:
    """A school's log of talks and measures, and the lists beside it; empty: the school keeps none. Raises
    TableError for any other files, and OSError for a folder that is a link or cannot be listed."""
    folder = home / FOLDER / str(school_id)
    files = _files(home, str(school_id))
    logs = [path for path in files if path.name.lower() in NAMES]
    lists = [path for path in files if path.match(LISTS)]
    if len(logs) > 1:
        raise TableError(f"{folder} has {' and '.join(NAMES)}: keep one of them")
    if lists and not logs:
        # Otherwise a log that is gone would look like one whose lines were all removed.
        raise TableError(
            f"{folder} has lists and no {' or '.join(NAMES)}: begin it by campus inputs template"
        )
    if len(files) > len(lists) and not logs:
        raise TableError(f"{folder} has a file by another name than {' or '.join(NAMES)}: rename it")
    return [*logs, *lists]


def misplaced_files(home: Path) -> list[str]:
    """A message if files or links lie in the folder of inputs itself, and so belong to no school."""
    folder = home / FOLDER
    try:
        files = _files(home)
    except OSError as error:
        return [unusable(error)]
    message = (
        f"{len(files)} files or links in {folder} are not loaded: files belong into {folder}/<school id>/"
    )
    return [message] if files else []


def _files(home: Path, *folders: str) -> list[Path]:
    """The files in a folder of `inputs` that may be loaded: without addresses."""
    names = files_below(home / FOLDER, *folders)
    return [Path(home, FOLDER, *folders, name) for name in names if name != READERS_FILE]


def has_inputs(runtime: Runtime) -> bool:
    """Whether a school keeps a file, or has kept one that was loaded."""
    return (runtime.home / FOLDER).exists() or _has_rows(runtime.lake)


def plan_inputs(loader: Loader, semesters_of: Mapping[int, Sequence[int]]) -> Plan:
    """Plan the files of schools. A school without a file has nothing to load."""
    loader.run.problems += misplaced_files(loader.runtime.home)
    for school_id in semesters_of:
        yield [InputsJob(loader.context(INTERVENTIONS, slice_of(INTERVENTIONS, school_id)))]


@dataclass(frozen=True, eq=False)
class InputsJob:
    """Loads the files of a school."""

    context: SliceContext

    async def load(self, loader: Loader) -> list[Loaded]:
        """Load the files; none: there are none, and never were. A failure is an outcome."""
        context, loaded = self.context, list[Loaded]()
        runtime, school_id = context.runtime, context.slice.school_id
        with failures_as_outcomes([context], loaded):
            try:
                paths = input_files(runtime.home, school_id)
                if not paths and not _has_rows(runtime.lake, context.slice):
                    return loaded
                if not paths:
                    folder = runtime.home / FOLDER / str(school_id)
                    raise TableError(f"{folder} has no {' or '.join(NAMES)} any more; {STAYS}")
                gathered = read_inputs(runtime.lake, school_id, paths, now().date())
            except OSError as error:
                raise TableError(unusable(error)) from error
            with staged([context]) as [slice_]:
                slice_.collector.add(gathered)
                slice_.collector.flush()
                reading = slice_.stage.reading(slice_.collector.account)
                reading = replace(reading, notes=_refused_lines(gathered))
                loaded.append(await loader.in_turn(commit_slice, slice_.stage.context, reading))
        return loaded


def read_inputs(lake: Lake, school_id: int, paths: Sequence[Path], today: date) -> Gathered:
    """The rows of a school's log and lists, and their refused lines. Raises TableError."""
    students = _students(lake, school_id, paths[0])
    return gather(*(_lines(path, students, today) for path in paths))


def _lines(path: Path, students: Students, today: date) -> Lines:
    content = file_below(path.parents[1], path.parent.name, path.name)
    if path.match(LISTS):
        return read_lines(lines_of_list(table_in(content, [*TALK_DATE, *NOTE])), students, today, path)
    return read_lines(table_in(content), students, today, path)


def _students(lake: Lake, school_id: int, path: Path) -> Students:
    columns, rows = ["id", "usin", "outer_id", "name", "deleted_at", DELETED_AT], list[dict[str, Any]]()
    if lake.holds(TABLES[STUDENTS.name]):
        rows = read_rows(lake, STUDENTS, slice_of(STUDENTS, school_id), columns, alive=False)
    if not rows:
        raise TableError(
            f"{path}: the students of school {school_id} are not loaded yet: run campus sync --school "
            f"{school_id} first"
        )
    return Students(
        Student(
            row["id"],
            row["usin"],
            row["outer_id"],
            row["name"],
            is_deleted=(row["deleted_at"] or row[DELETED_AT]) is not None,
        )
        for row in rows
    )


def _has_rows(lake: Lake, slice_: Slice | None = None) -> bool:
    return lake.read(TABLES[INTERVENTIONS.name], slice_, ["date"]).num_rows > 0


def _refused_lines(gathered: Gathered) -> tuple[str, ...]:
    """The first refused lines with their reasons."""
    lines = [f"{line_of(bad)}: {bad.reason}" for bad in sorted(gathered.bad, key=line_of)]
    rest = len(lines) - MAX_LINES
    return (*lines[:MAX_LINES], *([f"and {rest} more"] if rest > 0 else []))
