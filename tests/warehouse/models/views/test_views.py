"""The views of sheets and pages: each has the grain that its yml states, in every world."""

import shutil
from collections import defaultdict
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pytest

from tests.kits.models.builds import Build
from warehouse.publish.models.dbt_project import compiled

#: Views of earlier semesters, which the healthy school does not have.
OF_EARLIER_SEMESTERS = {
    "backtest_answer",
    "backtest_difference",
    "backtest_reason",
    "backtest_week",
    "cohort_week_last_year",
}
#: Views of guardians, and of statistics that need more students than the healthy school has.
OF_LARGER_SCHOOLS = {
    *("class_trend", "school_absence_reason", "school_tier"),
    *("student_growth", "student_guardian", "student_pattern"),
}


def views() -> dict[str, dict[str, Any]]:
    """The nodes of the views by name."""
    nodes = compiled()["nodes"].values()
    return {
        node["name"]: node for node in nodes if node["resource_type"] == "model" and node["schema"] == "views"
    }


@pytest.fixture(params=["healthy", "empty", "broken"])
def world(request: pytest.FixtureRequest) -> Build:
    build: Build = request.getfixturevalue(request.param)
    return build


def test_each_view_has_one_row_a_key(world: Build) -> None:
    with duckdb.connect(str(world.file), read_only=True) as connection:
        repeated = {
            name: connection.execute(
                f"select count(*) from (select {', '.join(node['config']['meta']['key'])} from views.{name}"
                " group by all having count(*) > 1)"
            ).fetchall()
            for name, node in views().items()
        }
    assert {name for name, counted in repeated.items() if counted != [(0,)]} == set()


def test_each_view_has_rows_of_a_healthy_school(healthy: Build) -> None:
    without = {name for name in views() if healthy.rows(f"select count(*) from views.{name}") == [(0,)]}
    assert without == OF_EARLIER_SEMESTERS | OF_LARGER_SCHOOLS


def test_each_view_can_be_made_anew_from_its_text(healthy: Build, tmp_path: Path) -> None:
    """The file of a district shows the views of shards by the text that DuckDB gives of them. DuckDB writes a
    lambda in a syntax that it refuses to read."""
    file = shutil.copy(healthy.file, tmp_path / "copy.duckdb")
    texts = healthy.rows("select sql from duckdb_views() where schema_name = 'views'")
    with duckdb.connect(str(file)) as connection:
        for (text,) in texts:
            connection.execute(text.replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1))
    assert len(texts) == len(views())


def test_no_column_of_a_view_is_a_hugeint(healthy: Build) -> None:
    """Excel, Arrow and JSON have no such number: their readers get a float or a text."""
    columns = healthy.rows(
        "select table_name, column_name from duckdb_columns()"
        " where schema_name = 'views' and contains(data_type, 'HUGEINT')"
    )
    assert columns == []


def test_each_school_shows_one_semester_or_its_current_ones(world: Build) -> None:
    shown = world.rows(
        "select school_id, count(*), count(*) filter (semester.is_current) from views.shown_semester"
        " join core.dim_semester as semester using (school_id, semester_id) group by all"
    )
    assert all(count == 1 or count == current for _, count, current in shown)


def test_views_of_suppressed_rows_say_so(healthy: Build) -> None:
    """exports/suppression.py checks the rows of a view that has the flag, and no others."""
    flagged = {
        f"{schema}.{table}"
        for schema, table in healthy.rows(
            "select schema_name, table_name from duckdb_columns() where column_name = 'is_suppressed'"
        )
    }
    nodes = compiled()["nodes"]
    silent = {
        name
        for name, node in views().items()
        if f"views.{name}" not in flagged
        and any(
            f"{nodes[key]['schema']}.{nodes[key]['name']}" in flagged
            for key in node["depends_on"]["nodes"]
            if key in nodes
        )
    }
    assert silent == set()


def test_students_are_ordered_by_attention(healthy: Build) -> None:
    rows = healthy.rows(
        "select school_id, semester_id, list(level order by attention_order), count(distinct attention_order)"
        " from views.student_standing group by all"
    )
    order = ["at_risk", "warning", "watch", "none", "unknown"]
    for _, _, levels, places in rows:
        assert levels == sorted(levels, key=order.index)
        assert places == len(levels)


@pytest.mark.parametrize(
    ("change", "since", "texts"),
    [
        ("new", "2025-09-20", ("2025-09-20", "2025-09-20")),
        # The first publication may come months after the end of a semester: it does not tell since when.
        ("first", "2100-05-15", (None, None)),
        ("first", "2000-01-20", ("2000-01-20 or earlier", "2000-01-20（或更早）")),
        ("new", "2100-05-15", ("2100-05-15", "2100-05-15")),
    ],
)
def test_a_first_level_published_after_the_semester_has_no_since(
    healthy: Build, tmp_path: Path, change: str, since: str, texts: tuple[str | None, str | None]
) -> None:
    file = Path(shutil.copy(healthy.file, tmp_path / "campus.duckdb"))
    with duckdb.connect(str(file)) as connection:
        connection.execute("delete from marts.early_warning_history")
        connection.execute(
            "insert into marts.early_warning_history by name select *, $1::date as since, $2 as change,"
            " false as thresholds_changed, true as is_latest, false as is_new_this_week"
            " from (from marts.early_warning select school_id, semester_id, student_id, level)",
            [since, change],
        )
        connection.execute("update core.dim_semester set last_day = date '2026-01-31'")
        read = connection.execute(
            "select distinct since_en, since_zh from views.student_standing where level <> 'none'"
        ).fetchall()
    assert read == [texts]


def test_every_sheet_shows_the_same_latest_talk(healthy: Build, tmp_path: Path) -> None:
    """That which the log of the student's page lists first: of the newest day, with the latest day to look
    again."""
    key = healthy.rows("select school_id, semester_id, student_id from views.absence")[0]
    file = Path(shutil.copy(healthy.file, tmp_path / "campus.duckdb"))
    log = [
        (date(2026, 3, 4), "plan", date(2026, 4, 1)),
        (date(2026, 3, 5), "call_home", None),
        (date(2026, 3, 5), "talk", date(2026, 3, 20)),
        (date(2026, 3, 5), "other", date(2026, 3, 20)),
        (date(2026, 3, 5), "plan", date(2026, 3, 12)),
    ]
    with duckdb.connect(str(file)) as connection:
        connection.execute("delete from core.fct_intervention")
        for day, kind, again_on in log:
            connection.execute(
                "insert into core.fct_intervention by name select $1 as school_id, $2 as semester_id,"
                " $3 as student_id, $4 as date, $5 as kind, $6 as again_on",
                [*key, day, kind, again_on],
            )
        read = [
            connection.execute(f"select {columns} from views.{view}").fetchall()
            for view, columns in (
                ("absence where last_intervention is not null", "last_intervention_on, last_intervention"),
                ("look_again", "spoke_on, spoke_kind, again_on"),
                ("student_standing where again_on is not null", "last_intervention_on, again_on"),
            )
        ]
    day, kind, again_on = log[3]
    assert read == [[(day, kind)], [(day, kind, again_on)], [(day, again_on)]]


def test_the_morning_list_agrees_with_the_rolls(healthy: Build) -> None:
    """Counted again in Python: who missed a lesson or came late on the last school day, or since."""
    rolls = healthy.rows(
        "select school_id, student_id, date, is_absent, is_late, is_leave from core.fct_attendance"
        " semi join views.shown_semester using (school_id, semester_id)"
        " anti join (from core.dim_student where is_deleted) using (school_id, student_id)"
        " where counts_in_denominator"
    )
    limits = dict(
        healthy.rows(
            "select school_id, value from staging.stg_attendance_thresholds"
            " where threshold = 'session_day_percent'"
        )
    )
    students = defaultdict[tuple[int, date], set[int]](set)
    for school, student, day, *_ in rolls:
        students[school, day].add(student)
    expected = dict[tuple[int, date, int], tuple[int, int, str]]()
    for school in {school for school, _ in students}:
        sizes = {day: len(present) for (of, day), present in students.items() if of == school}
        usual = median(sizes.values())
        last = max(day for day, size in sizes.items() if 100 * size >= usual * float(limits[school]))
        for student in {student for of, student, *_ in rolls if of == school}:
            for day in {day for day in sizes if day >= last}:
                marks = [row[3:] for row in rolls if row[:3] == (school, student, day)]
                absent = sum(is_absent for is_absent, _, _ in marks)
                late = sum(is_late for _, is_late, _ in marks)
                leave = sum(is_leave for _, _, is_leave in marks)
                if absent or late:
                    with_leave = "leave" if leave == absent else "both" if leave else "unexcused"
                    reason = with_leave if absent else "late"
                    expected[school, day, student] = (absent, late, reason)
    listed = healthy.rows("select school_id, date, student_id, absent, late, reason from views.absence")
    assert {row[:3]: row[3:] for row in listed} == expected != {}
