"""The marts of grades on the small healthy school, worked out by hand."""

from tests.kits.models.builds import Build


def test_the_school_is_what_its_groups_are(healthy: Build) -> None:
    groups = healthy.rows(
        "select group_type, group_key, group_name, grades, scored, passed, failed, mean::varchar,"
        " median::varchar from marts.grade_distribution where school_id = 1 order by all"
    )
    # 数学 has 90, 0 and 80 of 100: mean 56.6667; 美术 25 of 50, below 60 % (no verdict of the platform).
    maths, art = (3, 3, 2, 1, "56.6667", "80.0000"), (1, 1, 0, 1, "50.0000", "50.0000")
    everything = (4, 4, 2, 2, "55.0000", "65.0000")
    assert groups == [
        ("cohort", "1", "2028届", *everything),
        ("course", "数学", "数学", *maths),
        ("course", "美术", "美术", *art),
        ("course_class", "11", "数学", *maths),
        ("course_class", "12", "美术", *art),
        ("school", "", "一中", *everything),
        ("subject", "", None, *art),
        ("subject", "4", "数学", *maths),
    ]
    bands = healthy.rows(
        "select band, grades, percent::varchar from marts.grade_distribution_band"
        " where school_id = 1 and group_type = 'school' order by lower_percent desc nulls last"
    )
    assert bands == [
        ("90 and above", 1, "25.00"),
        ("80 to 90", 1, "25.00"),
        ("70 to 80", 0, "0.00"),
        ("60 to 70", 0, "0.00"),
        ("below 60", 2, "50.00"),
    ]


def test_who_has_left_is_not_expected_to_have_a_score(healthy: Build) -> None:
    items = healthy.rows(
        "select item_name, state, expected, scored, zeros, missing, others_scored"
        " from marts.score_completeness"
    )
    assert items == [("作业", "complete", 2, 2, 1, 0, 0)]
    assert healthy.rows("select students, difficulty from marts.score_item_analysis") == [
        (2, None)
    ]  # too few


def test_the_grade_as_known_on_any_date(healthy: Build) -> None:
    def known(moment: str) -> list[tuple[object, ...]]:
        return healthy.rows(
            "select grade_id, real_score::double, known_to is null"
            f" from marts.grades_known_on(timestamp '{moment}')"
            " where school_id = 1 and grade_id in (1, 5) order by all"
        )

    assert known("2025-12-31 00:00:00") == []
    assert known("2026-01-05 00:00:00") == [(1, 85.0, False), (5, 50.0, False)]
    assert known("2026-01-10 02:00:00") == [(1, 90.0, True)]
    changes = healthy.rows(
        "select student_name, course_name, kind, field, before, after, difference::double,"
        " is_after_publication from marts.grade_change order by record_id"
    )
    assert changes == [
        ("王一", "数学", "changed", "score", "85", "90", 5.0, False),
        ("李二", "美术", "deleted", None, None, None, None, False),
    ]


def test_the_gpa_of_the_transcript(healthy: Build) -> None:
    terms = healthy.rows(
        "select student_name, courses, credits::double, gpa, cumulative_gpa, is_last"
        " from marts.transcript_gpa"
    )
    # Its courses give no credit: their sum is not known, and there is nothing to weigh by.
    assert terms == [("王一", 2, None, None, None, True)]
