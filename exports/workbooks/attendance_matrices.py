"""The sheets of attendance whose columns are what the data have: weeks, cohorts, tiers, weekdays."""

from __future__ import annotations

from exports import measures
from exports.spreadsheet.sheets import Chart, Column, Sheet, Words
from exports.workbooks.labels import Labels
from exports.workbooks.queries import LAST_YEAR, SHOWN, UNFINISHED, pivot, pivot_names, rate
from exports.workbooks.terms import (
    LAST_YEARS_GRADE,
    LESSONS,
    NOT_OVER,
    PERCENT,
    RATE,
    SHARE,
    STRONG_GREY,
    STUDENTS,
    TIER_COLORS,
    grouped,
    less_is_better,
    more_is_better,
    pivot_columns,
    redder_up_to,
)
from warehouse.identifiers import listed

LATENESS = measures.label("lateness_rate")
BY_WEEK = Words("Attendance rate by teaching week", "各教学周出勤率")


def weekly(cohorts: Labels, after_another: Labels) -> Sheet:
    """The school week by week, and the rate of each cohort (labels by id).

    Args:
        after_another: Cohorts whose grade has a rate of the year before."""
    by_cohort = pivot(
        """
        SELECT semester_id, week, group_id, attendance_rate
        FROM marts.attendance_group_week
        WHERE school_id = $school_id AND group_type = 'cohort'
        """,
        rows=("semester_id", "week"),
        key="group_id",
        keys=cohorts,
        values=("attendance_rate",),
    )
    by_grade = pivot(
        f"""
        SELECT semester_id, week, group_id, {rate("present", "recorded")} AS last_year_rate
        FROM last_year
        """,
        rows=("semester_id", "week"),
        key="group_id",
        keys=after_another,
        values=("last_year_rate",),
    )
    names = pivot_names("attendance_rate", cohorts)
    earlier = pivot_names("last_year_rate", after_another)
    rates = ("attendance_rate", *names)
    last_year = (
        Words(
            " Beside them the rate of the same grade in the same teaching week a year before.",
            "旁边列出上一学年同一年级在同一教学周的出勤率。",
        )
        if after_another
        else Words("", "")
    )
    return Sheet(
        name=Words("Weeks", "每周"),
        summary=True,
        about=Words(
            "One row a teaching week, with the whole school and each cohort. A tick: the week is not over."
            + last_year.en,
            "每个教学周一行：全校及各届出勤率。打勾表示该周尚未结束。" + last_year.zh,
        ),
        query=f"""
            WITH {SHOWN}, {LAST_YEAR}, by_cohort AS ({by_cohort}), by_grade AS ({by_grade})
            SELECT
                shown.semester_name, week, min(date) AS first_day, {UNFINISHED}, days_in_session,
                partial_days, average_daily_attendance, recorded, absent, on_leave, late,
                lateness_rate, {listed((*rates, *earlier))}
            FROM marts.attendance_group_week
            JOIN shown USING (school_id, semester_id)
            LEFT JOIN by_cohort USING (semester_id, week)
            LEFT JOIN by_grade USING (semester_id, week)
            LEFT JOIN core.dim_date USING (school_id, semester_id, week)
            WHERE group_type = 'school'
            GROUP BY ALL
            ORDER BY shown.semester_name, week
        """,
        sources=("marts.attendance_group_week",),
        columns={
            "first_day": Column(Words("From", "起始日期")),
            "is_complete": NOT_OVER,
            **grouped(LESSONS, "recorded", "absent", "on_leave", "late"),
            **grouped(RATE, attendance_rate=Column(Words("School", "全校"))),
            **grouped(RATE, **pivot_columns("attendance_rate", cohorts, PERCENT)),
            **grouped(LAST_YEARS_GRADE, **pivot_columns("last_year_rate", after_another, PERCENT)),
        },
        scales=(more_is_better((*rates, *earlier)),),
        charts=(Chart("line", BY_WEEK, "week", rates, x=Words("Teaching week", "教学周"), y=RATE),),
    )


def tiers(labels: Labels) -> Sheet:
    """How many students of each cohort are in each tier (labels by code, the lowest first)."""
    colors = tuple(TIER_COLORS.get(code, STRONG_GREY) for code in labels)
    counts, shares = pivot_names("students", labels), pivot_names("share", labels)
    by_tier = pivot(
        f"""
        SELECT
            semester_id, grouping(cohort_id) AS is_all, cohort_name, tier, count(*) AS students,
            sum(count(*)) OVER (PARTITION BY semester_id, is_all, cohort_name)::BIGINT AS in_all,
            {rate("count(*)", "in_all")} AS share
        FROM marts.attendance_student_semester
        WHERE school_id = $school_id
        GROUP BY GROUPING SETS ((semester_id, cohort_id, cohort_name, tier), (semester_id, tier))
        """,
        rows=("semester_id", "is_all", "cohort_name", "in_all"),
        key="tier",
        keys=labels,
        values=("students", "share"),
        empty="0",
    )
    return Sheet(
        name=Words("Tiers", "出勤等级"),
        about=Words(
            "The number of students in each tier of attendance, for the whole school (first row) and each "
            "cohort, including students who have left. Shares are of the students of the row.",
            "各届及全校（首行）各出勤等级的学生人数，含已离校学生；占比以该行学生总数为分母。",
        ),
        query=f"""
            WITH {SHOWN}, by_tier AS ({by_tier})
            SELECT
                shown.semester_name,
                CASE WHEN is_all = 1 THEN school_name ELSE cohort_name END AS cohort_name,
                in_all AS students, {listed((*counts, *shares))}
            FROM by_tier
            JOIN shown USING (semester_id)
            JOIN core.dim_school USING (school_id)
            ORDER BY shown.semester_name, is_all DESC, cohort_name
        """,
        sources=("marts.attendance_student_semester",),
        columns={
            "students": Column(STUDENTS, unit="students"),
            **grouped(STUDENTS, **pivot_columns("students", labels, Column(kind="integer"))),
            **grouped(SHARE, **pivot_columns("share", labels, PERCENT)),
        },
        charts=(
            Chart(
                "column",
                Words("Students by tier of attendance", "各出勤等级学生占比"),
                "cohort_name",
                shares,
                stacked=True,
                greatest=100,
                colors=colors,
            ),
        ),
    )


def admin_classes(weeks: Labels) -> Sheet:
    """The rate of each administrative class, week by week."""
    by_week = pivot(
        f"""
        SELECT
            school_id, semester_id, group_id, group_name, week, attendance_rate,
            {rate("sum(present) OVER of_group", "sum(recorded) OVER of_group")} AS total
        FROM marts.attendance_group_week
        WHERE school_id = $school_id AND group_type = 'admin_class'
        WINDOW of_group AS (PARTITION BY semester_id, group_id)
        """,
        rows=("school_id", "semester_id", "group_id", "group_name", "total"),
        key="week",
        keys=weeks,
        values=("attendance_rate",),
    )
    names = pivot_names("attendance_rate", weeks)
    return Sheet(
        name=Words("Classes", "行政班"),
        about=Words(
            "The attendance rate of each administrative class, week by week, from red (low) to green (high).",
            "各行政班每周出勤率，颜色由红（低）到绿（高）。",
        ),
        query=f"""
            WITH {SHOWN}, by_week AS ({by_week})
            SELECT
                shown.semester_name, cohort_name, coalesce(admin_class_name, group_name) AS admin_class_name,
                {listed(("total", *names))}
            FROM by_week
            JOIN shown USING (school_id, semester_id)
            LEFT JOIN core.dim_admin_class
                ON dim_admin_class.school_id = by_week.school_id AND admin_class_id = group_id
            ORDER BY shown.semester_name, cohort_name, admin_class_name, group_id
        """,
        sources=("marts.attendance_student_semester",),
        columns=_week_columns(weeks),
        scales=(more_is_better(("total", *names)),),
    )


def course_classes(weeks: Labels) -> Sheet:
    """The rate of each course class, week by week."""
    columns = ("course_name", "class_name", "teacher_names")
    by_week = pivot(
        f"""
        SELECT
            school_id, semester_id, {listed(columns)}, course_class_id, week, attendance_rate,
            {rate("sum(present) OVER of_class", "sum(recorded) OVER of_class")} AS total,
            count_if(verdict = 'below') OVER of_class AS weeks_below
        FROM marts.attendance_class_week
        WHERE school_id = $school_id
        WINDOW of_class AS (PARTITION BY semester_id, course_class_id)
        """,
        rows=("school_id", "semester_id", *columns, "course_class_id", "total", "weeks_below"),
        key="week",
        keys=weeks,
        values=("attendance_rate",),
    )
    names = pivot_names("attendance_rate", weeks)
    return Sheet(
        name=Words("Course classes", "课程班"),
        about=Words(
            "The attendance rate of each course class, week by week. Empty: no roll was taken. Only weeks "
            "below are coloured: weeks in which the class is further below the other classes than chance "
            "explains.",
            "各课程班每周出勤率。空白表示该周未点名。只对“偏低周数”着色：该班出勤率低于其他班、且差异超出偶然波动的周数。",
        ),
        query=f"""
            WITH {SHOWN}, by_week AS ({by_week})
            SELECT shown.semester_name, {listed((*columns, "weeks_below", "total", *names))}
            FROM by_week
            JOIN shown USING (school_id, semester_id)
            ORDER BY shown.semester_name, course_name, class_name, course_class_id
        """,
        sources=("marts.attendance_class_week",),
        columns={
            "weeks_below": Column(Words("Weeks below", "偏低周数"), kind="integer", unit="weeks"),
            **_week_columns(weeks),
        },
        scales=(redder_up_to(None, ["weeks_below"]),),
    )


def heat_map(weekdays: Labels) -> Sheet:
    """Rates by lesson and weekday."""
    columns = ("lesson", "lesson_name", "period")
    by_day = pivot(
        f"""
        SELECT
            school_id, semester_id, lesson, lesson_name, weekday,
            left(start_time::VARCHAR, 5) || '–' || left(end_time::VARCHAR, 5) AS period,
            attendance_rate, lateness_rate,
            {rate("sum(present) OVER of_lesson", "sum(recorded) OVER of_lesson")} AS total
        FROM marts.attendance_heatmap
        WHERE school_id = $school_id
        WINDOW of_lesson AS (PARTITION BY semester_id, lesson)
        """,
        rows=("school_id", "semester_id", *columns, "total"),
        key="weekday",
        keys=weekdays,
        values=("attendance_rate", "lateness_rate"),
    )
    present, late = pivot_names("attendance_rate", weekdays), pivot_names("lateness_rate", weekdays)
    return Sheet(
        name=Words("Heat map", "热力图"),
        summary=True,
        about=Words(
            "When attendance is lost, by weekday and lesson. Red is worst.",
            "一周中何时缺勤最多：按星期和节次统计，越红出勤率越低。",
        ),
        query=f"""
            WITH {SHOWN}, by_day AS ({by_day})
            SELECT shown.semester_name, {listed((*columns, "total", *present, *late))}
            FROM by_day
            JOIN shown USING (school_id, semester_id)
            ORDER BY shown.semester_name, lesson
        """,
        sources=("marts.attendance_heatmap",),
        columns={
            "lesson_name": Column(Words("Name", "名称")),
            "period": Column(Words("Time", "时间")),
            **grouped(RATE, total=Column(Words("Week", "全周"), kind="percent")),
            **grouped(RATE, **pivot_columns("attendance_rate", weekdays, PERCENT)),
            **grouped(LATENESS, **pivot_columns("lateness_rate", weekdays, PERCENT)),
        },
        scales=(more_is_better(present), less_is_better(late)),
    )


def _week_columns(weeks: Labels) -> dict[str, Column]:
    by_week = pivot_columns("attendance_rate", weeks, PERCENT)
    return grouped(BY_WEEK, total=Column(Words("Semester", "全学期"), kind="percent"), **by_week)
