"""The sheets of grades with a column for each band or cohort."""

from __future__ import annotations

from exports import measures
from exports.spreadsheet.sheets import Chart, Column, Sheet, Words
from exports.workbooks.labels import Labels
from exports.workbooks.queries import BAND, GRADES_LAST_YEAR, MEAN, SHOWN, pivot, pivot_names
from exports.workbooks.terms import (
    GROUP_TYPES,
    HIGH,
    LAST_YEARS_GRADE,
    LOW,
    NO_NAME,
    PERCENT,
    grouped,
    more_is_better,
    pivot_columns,
)
from warehouse.identifiers import listed

BAND_HEADING = Words("Percentage of the full score", "占满分百分比")
GRADES = Words("Grades", "成绩数")
SHARE = Words("Share of the scored grades", "占有分成绩的比例")


def bands(groups: Labels) -> Sheet:
    """How many grades are in each band, in the school and each cohort."""
    by_group = pivot(
        f"""
        SELECT
            school_id, semester_id, lower_percent, {BAND} AS band,
            group_type || ' ' || group_key AS group_key, grades, percent
        FROM marts.grade_distribution_band
        WHERE school_id = $school_id AND group_type IN ('school', 'cohort')
        """,
        rows=("school_id", "semester_id", "lower_percent", "band"),
        key="group_key",
        keys=groups,
        values=("grades", "percent"),
        empty="0",
    )
    counts, shares = pivot_names("grades", groups), pivot_names("percent", groups)
    return Sheet(
        name=Words("Bands", "分数段"),
        summary=True,
        about=Words(
            "The distribution of grades over bands of the percentage of the full score (lower limit "
            "included), for the whole school and each cohort.",
            "成绩在各分数段（占满分百分比，含下限）的分布：全校及各届。",
        ),
        query=f"""
            WITH {SHOWN}, by_group AS ({by_group})
            SELECT shown.semester_name, band, {listed((*counts, *shares))}
            FROM by_group
            JOIN shown USING (school_id, semester_id)
            ORDER BY shown.semester_name, lower_percent DESC NULLS LAST
        """,
        sources=("marts.grade_distribution_band",),
        columns={
            **grouped(GRADES, **pivot_columns("grades", groups, Column(kind="integer", unit="grades"))),
            **grouped(SHARE, **pivot_columns("percent", groups, PERCENT)),
        },
        charts=(
            Chart(
                "column",
                Words("Share of grades by band", "各分数段成绩占比"),
                "band",
                shares,
                x=BAND_HEADING,
                y=SHARE,
            ),
        ),
    )


def distribution(labels: Labels, *, last_year: bool) -> Sheet:
    """Statistics and bands of the school, its cohorts, subjects and courses.

    Args:
        last_year: Shows the same grade level of the year before beside each cohort."""
    by_band = pivot(
        f"""
        SELECT school_id, semester_id, group_type, group_key, {BAND} AS band, percent
        FROM marts.grade_distribution_band
        WHERE school_id = $school_id
        """,
        rows=("school_id", "semester_id", "group_type", "group_key"),
        key="band",
        keys=labels,
        values=("percent",),
    )
    shares = pivot_names("percent", labels)
    earlier = (
        grouped(
            LAST_YEARS_GRADE,
            last_year_mean=Column(Words("Mean", "平均分"), unit="percent", stays=True),
            last_year_pass_rate=Column(measures.label("pass_rate"), unit="percent", stays=True),
        )
        if last_year
        else {}
    )
    about = Words(
        "Grades of the school and of each cohort, subject and course: number, level and spread. Low and "
        "high are the ends of the 95% interval of the mean.",
        "全校、各届、各学科、各课程的成绩：数量、水平和离散程度。下限、上限为平均分的95%置信区间。",
    )
    if last_year:
        about = Words(
            f"{about.en} Beside each cohort: the same grade level a year before.",
            f"{about.zh}各届旁列出上一学年同年级的成绩。",
        )
    return Sheet(
        name=Words("Distribution", "成绩分布"),
        about=about,
        query=f"""
            WITH {SHOWN}, {GRADES_LAST_YEAR}, by_band AS ({by_band})
            SELECT
                shown.semester_name, group_type, coalesce(group_name, '') AS group_name, students, scored,
                {MEAN}, mean_low, mean_high, median, sd, least, greatest, pass_rate, excellent_rate,
                {listed((*earlier, *shares))}
            FROM marts.grade_distribution
            JOIN shown USING (school_id, semester_id)
            LEFT JOIN by_band USING (school_id, semester_id, group_type, group_key)
            LEFT JOIN last_year USING (school_id, semester_id, group_type, group_key)
            WHERE group_type <> 'course_class'
            ORDER BY
                shown.semester_name,
                list_position(['school', 'cohort', 'subject', 'course'], group_type), group_name, group_key
        """,
        sources=("marts.grade_distribution",),
        columns={
            "group_type": Column(words=GROUP_TYPES),
            "group_name": Column(words=NO_NAME),
            "mean_low": Column(LOW),
            "mean_high": Column(HIGH),
            "sd": Column(unit=""),
            **earlier,
            **grouped(SHARE, **pivot_columns("percent", labels, PERCENT)),
        },
        scales=(more_is_better(["mean"]), more_is_better(["pass_rate"]), more_is_better(["excellent_rate"])),
    )
