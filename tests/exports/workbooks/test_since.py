"""Since when a student has had a level."""

from datetime import date

import duckdb
import pytest

from exports.spreadsheet.sheets import Language
from exports.workbooks.queries import LAST_CHANGE, since_text


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["week 3", None, "2026-01-20", "2026-05-15"]),
        ("zh", ["第3周", None, "2026-01-20", "2026-05-15"]),
    ],
)
def test_a_first_level_that_was_published_after_the_semester_has_no_since(
    language: Language, texts: list[str | None]
) -> None:
    """The first publication may come months after the end of a semester: it does not tell since when."""
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA marts; CREATE SCHEMA core")
        con.execute(
            "CREATE TABLE core.dim_semester AS SELECT 1 AS school_id, 20 AS semester_id, $1 AS last_day",
            [date(2026, 1, 31)],
        )
        con.execute(
            "CREATE TABLE marts.early_warning_history AS SELECT 1 AS school_id, 20 AS semester_id, *, "
            "'at_risk' AS level, false AS thresholds_changed, true AS is_latest, "
            "false AS is_new_this_week FROM (VALUES (1, 3, DATE '2025-09-20', 'new'), "
            "(2, NULL, DATE '2026-05-15', 'first'), (3, NULL, DATE '2026-01-20', 'new'), "
            "(4, NULL, DATE '2026-05-15', 'new')) changes (student_id, week, since, change)"
        )
        warnings = (
            "SELECT 1 AS school_id, 20 AS semester_id, 'at_risk' AS level, unnest([1, 2, 3, 4]) AS student_id"
        )
        query = f"SELECT {since_text(language)} FROM ({warnings}) {LAST_CHANGE} ORDER BY student_id"
        rows = con.execute(query).fetchall()
    assert [text for (text,) in rows] == texts
