"""Counts the students that early warning flags: by rule, by combination of rules, and week by week.

    python -m benchmarks.early_warning [--seeds 1 2 3] [--students 120 400] [--home FOLDER] [--file PUBLISHED]

For each seed and size a school is simulated, loaded and published as in the demo (one or two minutes each);
or PUBLISHED, a campus.duckdb, is used. Weeks: the attendance of the last semester is cut off after each
teaching week, and the models are built again from the rest; grades stay unchanged.
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import duckdb
from pydantic import SecretStr

from pipelines.cli.actions.demo import two_nights
from pipelines.resources import build_of
from pipelines.settings.settings import settings_apart
from simulator.process import running
from warehouse.publish.models.compiled_models import Project, read_project
from warehouse.publish.models.dbt_project import Build, compiled
from warehouse.publish.models.model_runner import Built, run

#: Semesters of schools. Students who have left are not counted.
SEMESTERS = "SELECT DISTINCT school_id, semester_id FROM marts.early_warning ORDER BY ALL"
RULES = """
    SELECT indicator, level, limit_value::DOUBLE, beyond_percent::DOUBLE, among_worst_percent::DOUBLE,
        100 * deciding / students
    FROM marts.early_warning_rule_counts
    WHERE school_id = $school AND semester_id = $semester AND in_force
    ORDER BY place, limit_value
"""
#: The earlier rules: one warning sufficed, all limits were absolute, and there was no level `watch`.
BEFORE = """
    bool_or(CASE indicator
        WHEN 'attendance_rate' THEN value < 88 WHEN 'attendance_drop' THEN value >= 5
        WHEN 'lateness_rate' THEN value >= 10 WHEN 'score_rate' THEN value < 72
        WHEN 'score_drop' THEN value >= 0.5 WHEN 'failed_courses' THEN value >= 1 ELSE value >= 10
    END)
"""
GRAVE = "bool_or(level = 'at_risk')"
RAISED = "level IN ('at_risk', 'warning')"
AREAS = f"count(DISTINCT area) FILTER ({RAISED}) >= 2"
SUFFICES = "bool_or(level = 'warning' AND suffices)"
#: Conditions that flag a student, over the rows of early_warning_indicator.
COMBINATIONS = {
    "one warning, the earlier rules": BEFORE,
    "one warning, these limits": f"bool_or({RAISED})",
    "one warning without the shares of the cohort": """bool_or(CASE rules.worse
        WHEN 'below' THEN value < rules.warning WHEN 'at_most' THEN value <= rules.warning
        ELSE value >= rules.warning END)""",
    "one grave indicator": GRAVE,
    "two warnings": f"count_if({RAISED}) >= 2",
    "two warnings of different areas": AREAS,
    "one grave or two of different areas": f"{GRAVE} OR {AREAS}",
    "the same, or one that suffices: the level": f"{GRAVE} OR {AREAS} OR {SUFFICES}",
}
FLAGGED = "SELECT student_id FROM ({students}) WHERE flagged"
STUDENTS = """
    SELECT student_id, coalesce({combination}, false) AS flagged
    FROM marts.early_warning_indicator AS indicators
    LEFT JOIN (
        SELECT school_id, indicator, worse, warning FROM staging.stg_early_warning_rules
    ) AS rules USING (school_id, indicator)
    WHERE school_id = $school AND semester_id = $semester AND is_told AND NOT has_left
    GROUP BY student_id
"""
WEEKS = """
    SELECT week, max(date) FROM marts.attendance_student_day
    WHERE school_id = $school AND semester_id = $semester AND recorded > 0 GROUP BY week ORDER BY week
"""
CUT = "DELETE FROM raw.{table} WHERE _school_id = $school AND {day} > $day"
#: Attendance by its day.
DAYS = {"attendance_records": "checked_at", "attendance_sessions": "date"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--students", type=int, nargs="*", default=[120, 400])
    parser.add_argument("--home", type=Path, help="folder to keep; default: a temporary one")
    parser.add_argument("--file", type=Path, nargs="*", default=[], help="published files instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = options.home or Path(scratch)
        build = build_of(settings_apart(home))
        project = read_project(compiled())
        files = {str(path): path for path in options.file} or dict(
            _simulated(home, options.seeds, options.students)
        )
        for name, file in files.items():
            print(f"\n# {name}")
            with closing(duckdb.connect(str(file), read_only=True)) as con:
                semesters = con.execute(SEMESTERS).fetchall()
                for school, semester in semesters:
                    report(con, school, semester)
            for school, semester in _last_ones(semesters):
                report_weeks(build, project, file, school, semester)


def report(con: duckdb.DuckDBPyConnection, school: int, semester: int) -> None:
    """Print the share of flagged students in percent, by rule and by combination."""
    place = {"school": school, "semester": semester}
    shares = {name: _share(con, place, combination) for name, combination in COMBINATIONS.items()}
    print(f"\n## school {school}, semester {semester}")
    for name, share in shares.items():
        print(f"{name:46}{share:6.1f} %")
    for indicator, level, limit, beyond, flagged, decides in con.execute(RULES, place).fetchall():
        rule = f"{indicator} {level} {limit:g}"
        print(f"  {rule:36} beyond {beyond:5.1f} %, flagged {flagged:5.1f} %, decides {decides or 0:4.1f} %")


def report_weeks(build: Build, project: Project, file: Path, school: int, semester: int) -> None:
    """Print how many students are flagged after each week, and how many of them a week later too."""
    print(f"\n## week by week: school {school}, semester {semester}")
    place = {"school": school, "semester": semester}
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(shutil.copy(file, Path(scratch) / build.file.name))
        copy.chmod(0o644)
        flagged_by_week: dict[str, dict[int, set[int]]] = {name: {} for name in COMBINATIONS}
        with closing(duckdb.connect(str(copy))) as con:
            # From the last week backwards: each cut deletes rows.
            for week, day in reversed(con.execute(WEEKS, place).fetchall()):
                for table, column in DAYS.items():
                    con.execute(
                        CUT.format(table=table, day=f"{column}::DATE"), {"school": school, "day": day}
                    )
                done = run(con, project, {f"raw.{table}" for table in DAYS})
                assert not [node.problem for node in done if isinstance(node, Built) and node.problem]
                for name, combination in COMBINATIONS.items():
                    flagged_by_week[name][week] = _flagged(con, place, combination)
    for name, weeks in flagged_by_week.items():
        in_order = [weeks[week] for week in sorted(weeks)][2:]  # no level before two weeks
        pairs = [(before, after) for before, after in pairwise(in_order) if before]
        stayed = sum(len(before & after) for before, after in pairs) / sum(len(before) for before, _ in pairs)
        once = set.union(*in_order)
        sizes = ", ".join(str(len(week)) for week in in_order)
        print(f"{name:46} stay a week {100 * stayed:5.1f} %, ever {len(once):4}, weeks: {sizes}")


def _share(con: duckdb.DuckDBPyConnection, place: dict[str, int], combination: str) -> float:
    query = f"SELECT 100 * count_if(flagged) / count(*) FROM ({STUDENTS.format(combination=combination)})"
    [(share,)] = con.execute(query, place).fetchall()
    return float(share)


def _flagged(con: duckdb.DuckDBPyConnection, place: dict[str, int], combination: str) -> set[int]:
    students = STUDENTS.format(combination=combination)
    return {student for (student,) in con.execute(FLAGGED.format(students=students), place).fetchall()}


def _last_ones(semesters: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The last semester of each school."""
    return list(dict(sorted(semesters)).items())


def _simulated(home: Path, seeds: list[int], sizes: list[int]) -> Iterator[tuple[str, Path]]:
    for seed in seeds:
        for students in sizes:
            settings = settings_apart(home / f"seed {seed} of {students}")
            published = settings.published
            assert isinstance(published, Path)
            if not published.exists():
                with running(schools=1, students=students, seed=seed) as platform:
                    address = {
                        "base_url": platform.base_url,
                        "client_id": platform.client_id,
                        "client_secret": SecretStr(platform.client_secret),
                    }
                    if two_nights(settings.model_copy(update=address), platform):
                        raise RuntimeError(f"seed {seed} could not be loaded")
            yield f"seed {seed}, {students} students", published


if __name__ == "__main__":
    main()
