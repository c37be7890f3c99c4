"""The sheets of attendance whose columns are what the data have: weeks, cohorts, tiers, weekdays."""

from __future__ import annotations

from exports.sheets import Chart, Column, Sheet, Words
from exports.workbooks.labels import Labels
from exports.workbooks.queries import SHOWN, UNFINISHED, rate, spread, spread_names
from exports.workbooks.terms import (
    LESSONS,
    NOT_OVER,
    PERCENT,
    RATE,
    SHARE,
    STRONG_GREY,
    STUDENTS,
    TIER_COLORS,
    less_is_better,
    more_is_better,
    spread_columns,
    under,
)
from warehouse.identifiers import listed

LATENESS = Words("Lateness rate", "迟到率")
BY_WEEK = Words("Attendance rate by teaching week", "各教学周出勤率")


def weekly(cohorts: Labels) -> Sheet:
    """The school week by week, and the rate of each cohort (labels by id)."""
    by_cohort = spread(
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
    names = spread_names("attendance_rate", cohorts)
    rates = ("attendance_rate", *names)
    return Sheet(
        name=Words("Weeks", "每周"),
        summary=True,
        about=Words(
            "One row a teaching week: the whole school, and each cohort beside it. A tick: not over yet.",
            "每个教学周一行：全校及各届出勤率。打勾表示该周尚未结束。",
        ),
        query=f"""
            WITH {SHOWN}, by_cohort AS ({by_cohort})
            SELECT
                shown.semester_name, week, min(date) AS first_day, {UNFINISHED}, days_in_session,
                partial_days, average_daily_attendance, recorded, absent, on_leave, late,
                lateness_rate, {listed(rates)}
            FROM marts.attendance_group_week
            JOIN shown USING (school_id, semester_id)
            LEFT JOIN by_cohort USING (semester_id, week)
            LEFT JOIN core.dim_date USING (school_id, semester_id, week)
            WHERE group_type = 'school'
            GROUP BY ALL
            ORDER BY shown.semester_name, week
        """,
        sources=("marts.attendance_group_week",),
        columns={
            "first_day": Column(Words("From", "起始日期")),
            "is_complete": NOT_OVER,
            **under(LESSONS, "recorded", "absent", "on_leave", "late"),
            **under(RATE, attendance_rate=Column(Words("School", "全校"), places=1)),
            **under(RATE, **spread_columns("attendance_rate", cohorts, PERCENT)),
        },
        scales=(more_is_better(rates),),
        charts=(Chart("line", BY_WEEK, "week", rates, x=Words("Teaching week", "教学周"), y=RATE),),
    )


def tiers(labels: Labels) -> Sheet:
    """How many students of each cohort are in each tier (labels by code, the lowest first)."""
    colors = tuple(TIER_COLORS.get(code, STRONG_GREY) for code in labels)
    counts, shares = spread_names("students", labels), spread_names("share", labels)
    by_tier = spread(
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
            "How many students are in each tier of attendance, cohort by cohort, the whole school first, "
            "those who have left included; the share is of the students of the row.",
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
            **under(STUDENTS, **spread_columns("students", labels, Column(kind="integer"))),
            **under(SHARE, **spread_columns("share", labels, PERCENT)),
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
    by_week = spread(
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
    names = spread_names("attendance_rate", weeks)
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
    by_week = spread(
        f"""
        SELECT
            school_id, semester_id, {listed(columns)}, course_class_id, week, attendance_rate,
            {rate("sum(present) OVER of_class", "sum(recorded) OVER of_class")} AS total
        FROM marts.attendance_class_week
        WHERE school_id = $school_id
        WINDOW of_class AS (PARTITION BY semester_id, course_class_id)
        """,
        rows=("school_id", "semester_id", *columns, "course_class_id", "total"),
        key="week",
        keys=weeks,
        values=("attendance_rate",),
    )
    names = spread_names("attendance_rate", weeks)
    return Sheet(
        name=Words("Course classes", "课程班"),
        about=Words(
            "The attendance rate of each course class, week by week. Empty: no roll was taken.",
            "各课程班每周出勤率。空白表示该周未点名。",
        ),
        query=f"""
            WITH {SHOWN}, by_week AS ({by_week})
            SELECT shown.semester_name, {listed((*columns, "total", *names))}
            FROM by_week
            JOIN shown USING (school_id, semester_id)
            ORDER BY shown.semester_name, course_name, class_name, course_class_id
        """,
        sources=("marts.attendance_class_week",),
        columns=_week_columns(weeks),
        scales=(more_is_better(("total", *names)),),
    )


def heat_map(weekdays: Labels) -> Sheet:
    """Rates by lesson and weekday."""
    columns = ("lesson", "lesson_name", "period")
    by_day = spread(
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
    present, late = spread_names("attendance_rate", weekdays), spread_names("lateness_rate", weekdays)
    return Sheet(
        name=Words("Heat map", "热力图"),
        summary=True,
        about=Words(
            "When in the week attendance is lost: each weekday and lesson, red where it is worst.",
            "一周中何时缺勤最多：按星期和节次，红色表示最差。",
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
            **under(RATE, total=Column(Words("Week", "全周"), kind="percent", places=1)),
            **under(RATE, **spread_columns("attendance_rate", weekdays, PERCENT)),
            **under(LATENESS, **spread_columns("lateness_rate", weekdays, PERCENT)),
        },
        scales=(more_is_better(present), less_is_better(late)),
    )


def _week_columns(weeks: Labels) -> dict[str, Column]:
    by_week = spread_columns("attendance_rate", weeks, PERCENT)
    return under(BY_WEEK, total=Column(Words("Semester", "全学期"), kind="percent", places=1), **by_week)
