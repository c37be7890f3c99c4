"""Contracts of attendance: one row a session, and one row a student in a session."""

import datetime as dt
from typing import Annotated

from campus.contract import Contract, Flag, Int, Number, Text, doc

STATUSES = ("normal", "absent", "lated", "early_left", "absent_from_duty")


class AttendanceSession(Contract):
    """A session: a class on one date in one lesson, up to the day of asking. `normal`, `late`, `absent` and
    `attendance_rate` are the platform's own statistics as sent; null where it was not asked for the session
    or has none."""

    class_id: Annotated[Int | None, doc("Class id in the v1 generation")] = None
    date: Annotated[dt.date | None, doc("Date")] = None
    lesson: Annotated[Int | None, doc("Lesson number, from 1")] = None
    semester_id: Annotated[Int | None, doc("Semester id")] = None
    week: Annotated[Int | None, doc("Teaching week of the semester, from 1")] = None
    scheduled: Annotated[
        Flag | None,
        doc("Whether the class's present schedule has it; false: records show that it took place"),
    ] = None
    attendance_rate: Annotated[
        Number | None, doc("Attendance rate by the platform, 0 to 100", expected=False)
    ] = None
    normal: Annotated[Int | None, doc("Students marked normal, by the platform", expected=False)] = None
    late: Annotated[
        Int | None, doc("Students marked late or left early, by the platform", expected=False)
    ] = None
    absent: Annotated[Int | None, doc("Students marked absent, by the platform", expected=False)] = None


class AttendanceRecord(Contract):
    """One student in one session. Who has no record in a session was not marked, which is not absent."""

    id: Annotated[Int, doc("Record id")]
    class_id: Annotated[Int | None, doc("Class id in the v1 generation")] = None
    student_id: Annotated[Int | None, doc("Student id")] = None
    usin: Annotated[Text | None, doc("Student number", personal=True)] = None
    checked_at: Annotated[dt.date | None, doc("Date of the session")] = None
    lesson: Annotated[Int | None, doc("Lesson number, from 1")] = None
    status: Annotated[Text | None, doc("Status", values=STATUSES)] = None
    status_label: Annotated[Text | None, doc("Label of what the teacher marked")] = None
    absence_label: Annotated[Text | None, doc("Leave, in words; empty: none")] = None
    conclusion_label: Annotated[Text | None, doc("Result, in words")] = None
    created_date: Annotated[dt.date | None, doc("Date on which it was marked")] = None
    created_time: Annotated[Text | None, doc("Time at which it was marked, HH:MM")] = None
