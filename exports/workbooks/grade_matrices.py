"""The sheets of grades whose columns are what the data have: bands and cohorts."""

from __future__ import annotations

from exports.sheets import Chart, Column, Sheet, Words
from exports.workbooks.labels import Labels
from exports.workbooks.queries import BAND, SHOWN, spread, spread_names
from exports.workbooks.terms import GROUP_TYPES, NAMELESS, PERCENT, more_is_better, spread_columns, under
from warehouse.identifiers import listed

BAND_HEADING = Words("Percentage of the full score", "占满分百分比")
GRADES = Words("Grades", "成绩数")
SHARE = Words("Share of the scored grades", "占有分成绩比例")


def bands(groups: Labels) -> Sheet:
    """How many grades are in each band, in the school and each cohort."""
    by_group = spread(
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
    counts, shares = spread_names("grades", groups), spread_names("percent", groups)
    return Sheet(
        name=Words("Bands", "分数段"),
        summary=True,
        about=Words(
            "How the grades are spread over bands of the percentage of the full score, the lower limit "
            "included: the whole school and each cohort.",
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
            **under(GRADES, **spread_columns("grades", groups, Column(kind="integer", unit="grades"))),
            **under(SHARE, **spread_columns("percent", groups, PERCENT)),
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


def distribution(labels: Labels) -> Sheet:
    """Statistics and bands of the school, its cohorts, subjects and courses."""
    by_band = spread(
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
    shares = spread_names("percent", labels)
    return Sheet(
        name=Words("Distribution", "成绩分布"),
        about=Words(
            "Grades of the school, then of each cohort, subject and course: how many, how good, how spread.",
            "全校、各届、各学科、各课程的成绩：数量、水平和离散程度。",
        ),
        query=f"""
            WITH {SHOWN}, by_band AS ({by_band})
            SELECT
                shown.semester_name, group_type, coalesce(group_name, '') AS group_name, students, scored,
                mean, median, sd, least, greatest, pass_rate, excellent_rate, {listed(shares)}
            FROM marts.grade_distribution
            JOIN shown USING (school_id, semester_id)
            LEFT JOIN by_band USING (school_id, semester_id, group_type, group_key)
            WHERE group_type <> 'course_class'
            ORDER BY
                shown.semester_name,
                list_position(['school', 'cohort', 'subject', 'course'], group_type), group_name, group_key
        """,
        sources=("marts.grade_distribution",),
        columns={
            "group_type": Column(words=GROUP_TYPES),
            "group_name": Column(words=NAMELESS),
            "sd": Column(unit=""),
            **under(SHARE, **spread_columns("percent", labels, PERCENT)),
        },
        scales=(more_is_better(["mean"]), more_is_better(["pass_rate"]), more_is_better(["excellent_rate"])),
    )
