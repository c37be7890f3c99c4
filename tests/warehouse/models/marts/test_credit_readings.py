"""What a grade's credit says, the course's or what was gained, changes no mean and no GPA."""

from dataclasses import replace

import pytest

from simulator.readings import Readings
from tests.kits.models.builds import Build, Builder
from tests.kits.models.raw_tables import create_raw
from tests.kits.models.simulated_school import Rows, fill, simulated

PLAIN = Readings()
GAINED = replace(PLAIN, grade_credit="gained")
COURSE, BY_TRANSCRIPT, BY_CLASSMATES, WITHOUT_TRANSCRIPTS, OTHER_TRANSCRIPT = range(1, 6)


def _without_v1(rows: Rows) -> Rows:
    """Nothing but grades tells of credits."""
    return rows | {"v1_classes": []}


def _with_another_gpa(rows: Rows) -> Rows:
    """The transcript of one student says 0.2 less, of another 0.1."""
    first, second, *others = [row for row in rows["transcript_semesters"] if row["grade_point_average"] > 1]
    changed = [
        first | {"grade_point_average": round(first["grade_point_average"] - 0.2, 2)},
        second | {"grade_point_average": round(second["grade_point_average"] - 0.05, 2)},
    ]
    untouched = [row for row in rows["transcript_semesters"] if row["grade_point_average"] <= 1]
    return rows | {"transcript_semesters": [*changed, *others, *untouched]}


@pytest.fixture(scope="module")
def schools(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """One school by each reading, with transcripts and without."""
    file = tmp_path_factory.mktemp("credits") / "schools.duckdb"
    create_raw(file, {})
    fill(file, COURSE, simulated(PLAIN, transcripts=True))
    fill(file, BY_TRANSCRIPT, simulated(GAINED, transcripts=True))
    fill(file, BY_CLASSMATES, _without_v1(simulated(GAINED)))
    fill(file, WITHOUT_TRANSCRIPTS, _without_v1(simulated(PLAIN)))
    fill(file, OTHER_TRANSCRIPT, _with_another_gpa(simulated(PLAIN, transcripts=True)))
    built = build("credits", file)
    assert built.problems == {}
    return built


def _compared(build: Build, school: int, other: int, condition: str) -> tuple[int, int]:
    """Student semesters of both schools, and those of them that differ."""
    rows = "(select * exclude (school_id, courses_without_credit) from marts.grade_student_semester"
    [(both, same)] = build.rows(
        "select count(*), count_if(ours = theirs)"
        f" from {rows} where school_id = {school}) as ours join {rows} where school_id = {other}) as theirs"
        f" using (semester_id, student_id) join marts.grade_student_semester as other"
        f" on other.school_id = {other} and other.semester_id = ours.semester_id"
        f" and other.student_id = ours.student_id where {condition}"
    )
    return both, both - same


def test_the_marts_are_those_of_the_plain_platform(schools: Build) -> None:
    both, different = _compared(schools, COURSE, BY_TRANSCRIPT, "true")
    assert both > 70
    assert different == 0


def test_without_transcripts_the_grades_of_others_tell_the_credit(schools: Build) -> None:
    condition = "other.courses_without_credit = 0 and other.pending_courses = 0"
    both, different = _compared(schools, WITHOUT_TRANSCRIPTS, BY_CLASSMATES, condition)
    assert both > 20
    assert different == 0
    sources = schools.rows(
        "select credit_source, count_if(credit_as_sent = 0), count_if(weight <> 1 and credit_source = 'none')"
        f" from core.fct_grade where school_id = {BY_CLASSMATES} group by all order by all"
    )
    # In the semester that runs nobody has gained anything: no credit is known, and each course weighs 1.
    assert [source for source, *_ in sources] == ["course", "grade", "none"]
    assert [source for source, zero, _ in sources if zero] == ["course", "none"]
    assert not any(wrong for *_, wrong in sources)


def test_weak_students_looked_better_by_what_they_had_gained(schools: Build) -> None:
    [(better, near)] = schools.rows(
        "select count_if(naive > transcript_gpa + 0.1), count_if(is_near_transcript) from ("
        "  select school_id, semester_id, student_id,"
        "    sum(grade_points * credit_as_sent) / nullif(sum(credit_as_sent), 0) as naive"
        "  from core.fct_grade where counts_in_statistics group by all"
        ") join marts.grade_student_semester using (school_id, semester_id, student_id)"
        f" where school_id = {BY_TRANSCRIPT} and pending_courses = 0"
    )
    assert better > 5
    [(compared,)] = schools.rows(
        "select count(gpa_difference) from marts.grade_student_semester"
        f" where school_id = {BY_TRANSCRIPT} and pending_courses = 0"
    )
    assert near == compared > 20


def test_a_gpa_far_from_the_transcripts_is_a_warning(schools: Build) -> None:
    check = "grade_student_semester_gpa_is_near_the_transcripts"
    assert (schools.statuses[check], schools.failures[check]) == ("warn", 1)
    [(school_id, difference)] = schools.rows(f"select school_id, gpa_difference::double from quality.{check}")
    assert school_id == OTHER_TRANSCRIPT
    assert difference == pytest.approx(0.2, abs=0.006)
