"""Who reads which pages: the head of school all, teachers those about their own classes."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from exports.site.classes import STANDING
from exports.site.sections import PageKind, Role
from exports.source import records
from exports.workbooks.queries import SHOWN

#: The pages of each person of a role: a row a page.
OF_ROLE: dict[Role, str] = {
    "class-teacher": f"""
        {STANDING}, own AS (
            SELECT teacher_id, staff_number, teacher_name, admin_class_id, student_id
            FROM core.bridge_admin_class_teacher JOIN standing USING (school_id, admin_class_id)
        )
        SELECT DISTINCT
            teacher_id, staff_number, teacher_name, 'class' AS kind, admin_class_id::VARCHAR AS page
        FROM own
        UNION ALL
        SELECT teacher_id, staff_number, teacher_name, 'student', student_id::VARCHAR FROM own
        ORDER BY ALL
    """,
    "teacher": f"""
        WITH {SHOWN}
        SELECT DISTINCT
            teacher_id, staff_number, teacher_name, 'course' AS kind, course_class_id::VARCHAR AS page
        FROM core.bridge_class_teacher
        JOIN shown USING (school_id, semester_id)
        SEMI JOIN (FROM core.dim_course_class WHERE NOT is_deleted) USING (school_id, course_class_id)
        WHERE is_current
        ORDER BY ALL
    """,
}


@dataclass(frozen=True)
class Reader:
    """A teacher with the pages that the teacher may see."""

    teacher_id: int
    staff_number: str | None
    name: str | None
    pages: dict[PageKind, list[str]]


def readers_of(
    con: duckdb.DuckDBPyConnection, school_id: int, role: Role, pages: dict[PageKind, list[str]]
) -> list[Reader]:
    """The teachers of a role, by id. `pages`: all pages of the school."""
    existing = {kind: set(keys) for kind, keys in pages.items()}
    readers: dict[int, Reader] = {}
    for row in records(con, OF_ROLE[role], {"school_id": school_id}):
        reader = readers.setdefault(
            row["teacher_id"],
            Reader(row["teacher_id"], row["staff_number"], row["teacher_name"], {"index": [""]}),
        )
        if row["page"] in existing[row["kind"]]:
            reader.pages.setdefault(row["kind"], []).append(row["page"])
    return list(readers.values())
