"""Contracts of attendance: one row a session, and one row a student in a session."""

import datetime as dt
from typing import Annotated, ClassVar

from campus.contracts.fields import Contract, Flag, Int, Number, Text, doc

STATUSES = ("normal", "absent", "lated", "early_left", "absent_from_duty")


class AttendanceSession(Contract):
    """A session: a class on one date in one lesson, up to the day of asking. `normal`, `late`, `absent` and
    `attendance_rate` are the platform's own statistics as sent; null where it was not asked for the session
    or has none."""

    label_zh: ClassVar[str] = "考勤场次"

    class_id: Annotated[
        Int | None, doc("Class id in the v1 interface", privacy="id", label_zh="课程班ID")
    ] = None
    date: Annotated[dt.date | None, doc("Date", privacy="plain", label_zh="日期")] = None
    lesson: Annotated[Int | None, doc("Lesson number, from 1", privacy="plain", label_zh="节次")] = None
    semester_id: Annotated[Int | None, doc("Semester id", privacy="id", label_zh="学期ID")] = None
    week: Annotated[
        Int | None, doc("Teaching week of the semester, from 1", privacy="plain", label_zh="教学周")
    ] = None
    scheduled: Annotated[
        Flag | None,
        doc(
            "Whether the class's present schedule has it; false: records show that it took place",
            privacy="plain",
            label_zh="是否排课",
        ),
    ] = None
    attendance_rate: Annotated[
        Number | None,
        doc(
            "Attendance rate by the platform, 0 to 100",
            privacy="plain",
            rate="percent",
            expected=False,
            label_zh="出勤率",
            unit="percent",
        ),
    ] = None
    normal: Annotated[
        Int | None,
        doc("Students marked normal, by the platform", privacy="plain", expected=False, label_zh="正常数"),
    ] = None
    late: Annotated[
        Int | None,
        doc(
            "Students marked late or left early, by the platform",
            privacy="plain",
            expected=False,
            label_zh="迟到数",
        ),
    ] = None
    absent: Annotated[
        Int | None,
        doc("Students marked absent, by the platform", privacy="plain", expected=False, label_zh="缺勤数"),
    ] = None


class AttendanceRecord(Contract):
    """One student in one session. Who has no record in a session was not marked, which is not absent."""

    label_zh: ClassVar[str] = "考勤记录"

    id: Annotated[Int, doc("Record id", privacy="record", label_zh="ID")]
    class_id: Annotated[
        Int | None, doc("Class id in the v1 interface", privacy="id", label_zh="课程班ID")
    ] = None
    student_id: Annotated[Int | None, doc("Student id", privacy="person", label_zh="学生ID")] = None
    usin: Annotated[Text | None, doc("Student number", privacy="number", label_zh="学工号")] = None
    checked_at: Annotated[
        dt.date | None, doc("Date of the session", privacy="plain", label_zh="考勤日期")
    ] = None
    lesson: Annotated[Int | None, doc("Lesson number, from 1", privacy="plain", label_zh="节次")] = None
    status: Annotated[Text | None, doc("Status", privacy="plain", values=STATUSES, label_zh="状态")] = None
    status_label: Annotated[
        Text | None, doc("Label of what the teacher marked", privacy="plain", label_zh="状态文本")
    ] = None
    absence_label: Annotated[
        Text | None, doc("Leave, in words; empty: none", privacy="plain", label_zh="请假类型")
    ] = None
    conclusion_label: Annotated[
        Text | None, doc("Result, in words", privacy="plain", label_zh="考勤结论文本")
    ] = None
    created_date: Annotated[
        dt.date | None, doc("Date on which it was marked", privacy="moment", label_zh="记录日期")
    ] = None
    created_time: Annotated[
        Text | None, doc("Time at which it was marked, HH:MM", privacy="moment", label_zh="记录时刻")
    ] = None
