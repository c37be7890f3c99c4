"""The workbook of attendance: semesters, weeks, classes, and students with low attendance."""

from __future__ import annotations

from dataclasses import replace

import duckdb

from exports import measures
from exports.figures import figures
from exports.spreadsheet.sheets import Column, Highlight, Language, Sheet, Words, Workbook
from exports.workbooks import class_pages, labels
from exports.workbooks.attendance_matrices import (
    admin_classes,
    course_classes,
    heat_map,
    tiers,
    weekly,
)
from exports.workbooks.definitions import attendance_definitions
from exports.workbooks.queries import NEWEST_FIRST, NOT_DELETED, SHOWN, UNFINISHED, rate, ratio
from exports.workbooks.terms import (
    AMBER,
    EARLIER_SEMESTERS,
    LESSONS,
    NOT_OVER,
    RATE,
    RED,
    SHARE,
    STUDENTS,
    TIERS,
    grouped,
    redder_up_to,
)

CHRONIC = Words("Chronically absent", "长期缺勤")

OVERVIEW = Sheet(
    name=Words("Overview", "概况"),
    summary=True,
    about=Words(
        "One row a semester. Rates count recorded lessons: a lesson without a roll is no absence. Average "
        "daily attendance is a number of students, not a rate, and leaves out partial days. A tick: the "
        "semester is not over.",
        "每学期一行。各项比率只计已点名的课节，未点名不算缺勤。日均出勤人数是人数而不是比率，不含部分点名的日子。"
        "打勾表示学期尚未结束。",
    ),
    query=f"""
        WITH students AS (
            SELECT
                school_id, semester_id, is_complete,
                count(*) AS students, count_if(recorded > 0) AS with_records, count_if(is_chronic) AS chronic,
                sum(recorded)::BIGINT AS recorded, sum(present)::BIGINT AS present,
                sum(absent)::BIGINT AS absent, sum(on_leave)::BIGINT AS on_leave, sum(late)::BIGINT AS late
            FROM marts.attendance_student_semester
            WHERE school_id = $school_id
            GROUP BY ALL
        ),
        days AS (
            SELECT
                school_id, semester_id,
                sum(days_in_session)::BIGINT AS days_in_session, sum(partial_days)::BIGINT AS partial_days,
                {ratio("sum(student_days_attended)", "sum(days_in_session)", 1)} AS average_daily_attendance
            FROM marts.attendance_group_week
            WHERE group_type = 'school'
            GROUP BY ALL
        ),
        rolls AS (
            SELECT
                school_id, semester_id,
                sum(recorded_sessions) AS taken, sum(unrecorded_sessions) AS not_taken
            FROM marts.attendance_class_week
            GROUP BY ALL
        )
        SELECT
            dim_semester.semester_name, {UNFINISHED}, students, days_in_session, partial_days,
            average_daily_attendance,
            {rate("present", "recorded")} AS attendance_rate, {rate("late", "present")} AS lateness_rate,
            recorded, absent, on_leave, late,
            chronic, {rate("chronic", "with_records")} AS chronic_rate,
            {rate("taken", "(taken + not_taken)")} AS recording_rate
        FROM students
        JOIN core.dim_semester USING (school_id, semester_id)
        LEFT JOIN days USING (school_id, semester_id)
        LEFT JOIN rolls USING (school_id, semester_id)
        ORDER BY {NEWEST_FIRST}
    """,
    sources=("marts.attendance_class_week", "marts.attendance_group_week"),
    columns={
        "is_complete": NOT_OVER,
        "students": Column(STUDENTS, unit="students"),
        "recording_rate": Column(measures.label("recording_rate")),
        **grouped(LESSONS, "recorded", "absent", "on_leave", "late"),
        **grouped(
            CHRONIC,
            chronic=Column(STUDENTS, unit="students"),
            chronic_rate=Column(SHARE, kind="percent"),
        ),
    },
)
LOW_ATTENDANCE = Sheet(
    name=Words("Low attendance", "出勤偏低学生"),
    about=Words(
        "Present students below the best tier of attendance, class by class, the lowest rate first. Recent: "
        "the last teaching weeks. A change of -5 is 5 percentage points less than before. The current streak "
        "counts absent days up to the last recorded day.",
        "出勤等级低于最高一级的在校学生，按班级排列，出勤率低的排在前面。近期指最近几个教学周；"
        "变化为-5表示比此前低5个百分点。当前连续缺勤天数计算到最近一个有考勤的日子。",
    ),
    query=f"""
        WITH {SHOWN}, {class_pages.CLASS_HEADS}
        SELECT
            shown.semester_name, {class_pages.HEAD}, {class_pages.PAGE}, student_number, student_name,
            tier, CASE WHEN is_chronic THEN '✓' END AS is_chronic,
            attendance_rate, recent_attendance_rate, attendance_rate_change, lateness_rate,
            recorded, absent, on_leave, late,
            days_recorded, days_absent, longest_absence_streak, current_absence_streak
        FROM marts.attendance_student_semester
        JOIN shown USING (school_id, semester_id)
        JOIN staging.stg_attendance_tiers AS tiers USING (school_id, tier)
        LEFT JOIN class_heads USING (school_id, semester_id, admin_class_id)
        {NOT_DELETED}
        WHERE tiers.upper_percent < (
            SELECT max(upper_percent) FROM staging.stg_attendance_tiers WHERE school_id = $school_id
        )
        ORDER BY
            {class_pages.ORDER},
            tiers.upper_percent, present / recorded, student_id
    """,
    sources=("marts.attendance_student_semester", *class_pages.SOURCES),
    columns={
        **class_pages.COLUMNS,
        "tier": Column(words=TIERS),
        "is_chronic": Column(CHRONIC),
        **grouped(
            RATE,
            attendance_rate=Column(Words("Semester", "全学期")),
            recent_attendance_rate=Column(Words("Recent", "近期")),
            attendance_rate_change=Column(Words("Change", "变化"), signed=True),
        ),
        **grouped(LESSONS, "recorded", "absent", "on_leave", "late"),
        **grouped(
            Words("Days", "天数"),
            days_recorded=Column(Words("Recorded", "有考勤")),
            days_absent=Column(Words("Absent", "缺勤")),
            longest_absence_streak=Column(Words("Longest streak", "最长连续缺勤")),
            current_absence_streak=Column(Words("Current streak", "当前连续缺勤")),
        ),
    },
    scales=(redder_up_to(None, ["days_absent"]),),
    highlights=(
        Highlight(("tier",), RED, equal="severe"),
        Highlight(("tier",), AMBER, equal="chronic"),
        Highlight(("attendance_rate_change",), RED, below=-5),
    ),
    breaks=class_pages.PAGE,
    notice=class_pages.FOR_CLASS_TEACHER,
)
UNRECORDED = Sheet(
    name=Words("Rolls not taken", "未点名"),
    about=Words(
        "Teachers whose classes had lessons without a roll, the most first. A lesson of several teachers "
        "counts for each teacher. No name: the teacher is not known.",
        "有课节未点名的教师，未点名最多的排在前面。多位教师共同任教的课节，每位教师各计一次；姓名空白表示任课教师未知。",
    ),
    query=f"""
        WITH {SHOWN},
        unrecorded AS (
            SELECT
                school_id, semester_id, concat_ws(' ', course_name, class_name) AS class,
                unnest(CASE WHEN len(teacher_ids) > 0 THEN teacher_ids ELSE [NULL] END) AS teacher_id
            FROM marts.attendance_class_session
            WHERE state = 'unrecorded'
        ),
        classes AS (
            SELECT
                school_id, semester_id, teacher_id,
                string_agg(DISTINCT class, ', ' ORDER BY class) AS classes
            FROM unrecorded
            GROUP BY ALL
        )
        SELECT
            shown.semester_name, staff_number, teacher_name,
            sum(due_sessions)::BIGINT AS due_sessions, sum(recorded_sessions)::BIGINT AS recorded_sessions,
            sum(unrecorded_sessions)::BIGINT AS unrecorded_sessions,
            {rate("sum(unrecorded_sessions)", "sum(due_sessions)")} AS unrecorded_rate,
            min(first_unrecorded_on) AS first_unrecorded_on, max(last_unrecorded_on) AS last_unrecorded_on,
            any_value(classes.classes) AS unrecorded_classes
        FROM marts.attendance_unrecorded AS due
        JOIN shown ON shown.school_id = due.school_id AND shown.semester_id = due.semester_id
        LEFT JOIN classes
            ON classes.school_id = due.school_id AND classes.semester_id = due.semester_id
            AND classes.teacher_id IS NOT DISTINCT FROM due.teacher_id
        GROUP BY shown.semester_name, due.teacher_id, staff_number, teacher_name
        HAVING unrecorded_sessions > 0
        ORDER BY shown.semester_name, unrecorded_sessions DESC, unrecorded_rate DESC, due.teacher_id
    """,
    sources=("marts.attendance_unrecorded",),
    columns=grouped(
        LESSONS,
        due_sessions=Column(Words("Due", "应点名")),
        recorded_sessions=Column(Words("Roll taken", "已点名")),
        unrecorded_sessions=Column(Words("Not taken", "未点名")),
        unrecorded_rate=Column(Words("Share not taken", "未点名率")),
        first_unrecorded_on=Column(Words("First not taken", "最早未点名")),
        last_unrecorded_on=Column(Words("Last not taken", "最近未点名")),
        unrecorded_classes=Column(Words("Classes", "课程班")),
    ),
    scales=(redder_up_to(None, ["unrecorded_rate"]),),
)


def attendance(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbook of attendance of a school."""
    weeks = labels.weeks(con, school_id)
    by_week = weekly(labels.cohorts(con, school_id), labels.cohorts_after_another(con, school_id))
    overview = replace(
        OVERVIEW,
        figures=figures(con, school_id),
        charts=tuple(replace(chart, of=by_week.name) for chart in by_week.charts),
    )
    return (
        Workbook(
            name="attendance",
            title=Words("Attendance", "考勤"),
            about=Words(
                "Attendance of students by semester, week, class and student.",
                "学生的出勤情况，按学期、教学周、班级和学生统计。",
            ),
            filters=EARLIER_SEMESTERS,
            sheets=(
                overview,
                by_week,
                tiers(labels.tiers(con, school_id)),
                admin_classes(weeks),
                course_classes(weeks),
                LOW_ATTENDANCE,
                heat_map(labels.weekdays(con, school_id)),
                UNRECORDED,
            ),
            definitions=attendance_definitions(con, school_id),
            for_paper=True,
        ),
    )
