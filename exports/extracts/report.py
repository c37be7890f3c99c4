"""Measures how many students an extract still singles out, by attacking the written tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from exports.extracts.coarse import SCHEMA, Coarsening
from exports.extracts.plan import TAKEN, ExtractRefused, Protection
from warehouse.identifiers import quoted, relation
from warehouse.privacy import SMALL_GROUP

SUFFIX = ".json"
#: The numbers of days of absence that somebody may know of a student.
NUMBERS_OF_DAYS = (2, 3)
#: The tables with days of absence of single students.
DAYS = {
    "core.fct_attendance": "is_absent AND counts_in_denominator",
    "marts.attendance_student_day": "absent > 0",
}
COARSE_WEEKS = "attendance_week"
WEEKS = f"{SCHEMA}.{COARSE_WEEKS}"


@dataclass(frozen=True)
class Exposure:
    """Students whom some of their days of absence single out, if so many days are known, or fewer."""

    #: Students with a day of absence.
    students: int
    singled_out: int
    #: Those whom the days narrow down to fewer than SMALL_GROUP students.
    among_few: int


@dataclass(frozen=True)
class ExtractReport:
    """What an extract protects from, and what it does not."""

    protection: Protection
    smallest_group: int
    coarsenings: Sequence[Coarsening]
    #: By number of known days. None: the extract has no days and no weeks of absence.
    exposures: Mapping[int, Exposure | None]


def report_on(
    con: duckdb.DuckDBPyConnection,
    protection: Protection,
    tables: Mapping[str, int],
    coarsenings: Sequence[Coarsening],
) -> ExtractReport:
    """Attack an extract that is attached as `extract`. `tables`: its tables with their rows."""
    exposures = {days: _exposure(con, days, tables) for days in NUMBERS_OF_DAYS}
    return ExtractReport(protection, SMALL_GROUP, coarsenings, exposures)


def report_text(report: ExtractReport) -> str:
    """A report as JSON."""
    return json.dumps(
        {
            "protection": report.protection,
            "smallest_group": report.smallest_group,
            "tables_of_students": [
                asdict(coarsening) | {"suppressed_share": coarsening.suppressed_share}
                for coarsening in report.coarsenings
            ],
            "students_found_by_days_of_absence": {
                str(days): exposure and asdict(exposure) for days, exposure in report.exposures.items()
            },
        },
        indent=2,
    )


def check_report_path(path: Path, *, replace: bool) -> None:
    """Check the path of a report. Raises ExtractRefused where no report may be written to `path`."""
    if path.suffix != SUFFIX:
        raise ExtractRefused(f"{path}: a report is a JSON file; name it *{SUFFIX}")
    if path.exists() and not replace:
        raise ExtractRefused(TAKEN.format(path))
    if path.exists() and '"students_found_by_days_of_absence"' not in path.read_text(encoding="utf-8"):
        raise ExtractRefused(f"{path} is not a report on an extract, and is not replaced: name another file")


def _exposure(con: duckdb.DuckDBPyConnection, most_days: int, tables: Mapping[str, int]) -> Exposure | None:
    if table := next((table for table in DAYS if table in tables), None):
        absences = f"SELECT DISTINCT school_id, student_id, date FROM extract.{relation(table)}"
        absences = f"{absences} WHERE {DAYS[table]}"
        shared = " UNION ALL ".join(map(_students_by_days, range(1, most_days + 1)))
    elif WEEKS in tables:
        absences = f"SELECT school_id, student_id FROM temp.{quoted(COARSE_WEEKS)} WHERE absence <> 'none'"
        # No key leads from a row to another row, so each known day is compared by itself.
        shared = f"""
            SELECT unnest(list(rowid)) AS student, count(*) AS sharing FROM extract.{relation(WEEKS)}
            WHERE absence <> 'none' GROUP BY school_id, semester_id, cohort_id, week, absence
        """
    else:
        return None
    [(students, alone, among_few)] = con.execute(
        f"""
        WITH absences AS ({absences})
        SELECT (SELECT count(DISTINCT (school_id, student_id)) FROM absences),
            count(DISTINCT student) FILTER (sharing = 1), count(DISTINCT student)
        FROM ({shared}) WHERE sharing < {SMALL_GROUP}
        """
    ).fetchall()
    return Exposure(students, alone, among_few)


def _students_by_days(days: int) -> str:
    """SQL for each student and each set of so many of the student's days in `absences`, with the number of
    students who share these days."""
    dates = ", ".join(f"day_{number}.date" for number in range(days))
    joins = " ".join(
        f"JOIN absences AS day_{number} ON day_{number}.school_id = day_0.school_id "
        f"AND day_{number}.student_id = day_0.student_id AND day_{number}.date > day_{number - 1}.date"
        for number in range(1, days)
    )
    return f"""
        SELECT unnest(list((day_0.school_id, day_0.student_id))) AS student, count(*) AS sharing
        FROM absences AS day_0 {joins} GROUP BY day_0.school_id, {dates}
    """
