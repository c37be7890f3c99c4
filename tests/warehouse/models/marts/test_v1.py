"""Attendance, timetables, transcripts and the links between both interfaces, on the small healthy school."""

from tests.kits.models.builds import Build


def test_attendance_has_v3_ids_and_the_semester_of_its_class(healthy: Build) -> None:
    marks = healthy.rows(
        "select attendance_id, semester_id, course_class_id, student_id, date::varchar, week, weekday,"
        " lesson, absence_label, is_present, is_absent, is_late, is_leave, marked_at::varchar"
        " from core.fct_attendance order by all"
    )
    # Class 112 of v1 is v3's 12. Student 3 has left and keeps the absence; a deleted record is none.
    assert marks == [
        (1, 20, 11, 1, "2026-03-02", 1, 1, 1, None, True, False, False, False, "2026-03-02 08:05:00"),
        (2, 20, 11, 3, "2026-03-02", 1, 1, 1, "病假", False, True, False, True, "2026-03-02 08:05:00"),
        (3, 20, 12, 1, "2026-03-09", 2, 1, 2, None, True, False, True, False, "2026-03-09 08:05:00"),
    ]


def test_a_session_without_a_record_is_there_and_unrecorded(healthy: Build) -> None:
    sessions = healthy.rows(
        "select course_class_id, date::varchar, lesson, is_scheduled, state, members, records, present,"
        " absent, unrecorded_members, platform_attendance_rate::double"
        " from core.fct_class_session order by all"
    )
    # On 2 March student 3 had left already: 1 and 2 are members, of whom 2 was not recorded; 3 was.
    assert sessions == [
        (11, "2026-03-02", 1, True, "recorded", 2, 2, 1, 1, 0, 50.0),
        (11, "2026-03-09", 1, True, "unrecorded", 2, 0, 0, 0, None, None),
        (12, "2026-03-09", 2, False, "recorded", 1, 1, 1, 0, 0, None),
    ]


def test_classes_and_people_of_both_interfaces_are_paired(healthy: Build) -> None:
    classes = healthy.rows(
        "select v1_class_id, course_class_id, matched_by, teacher_ids, teacher_names"
        " from core.dim_teaching_class order by all"
    )
    assert classes == [(11, 11, "id", [50], "陈老师"), (112, 12, "csin", None, None)]
    people = healthy.rows(
        "select v1_person_id, person_id, matched_by, kind from core.bridge_v1_person order by all"
    )
    assert people == [
        (1, 1, "id", "student"),
        (2, 2, "id", "student"),
        (3, 3, "id", "student"),
        (50, 50, "id", "staff"),
    ]
    assert healthy.rows("from core.unmatched_v1") == []


def test_the_calendar_and_the_timetable_follow_the_school(healthy: Build) -> None:
    days = healthy.rows(
        "select count(*), min(date)::varchar, max(week), count(*) filter (where is_teaching_day),"
        " any_value(weekday_name) filter (where weekday = 1) from core.dim_date where school_id = 1"
    )
    # 2 March to 5 July 2026, Monday to Sunday: 18 weeks of five teaching days.
    assert days == [(126, "2026-03-02", 18, 90, "周一")]
    lessons = healthy.rows(
        "select lesson, lesson_name, start_time::varchar, minutes from core.dim_lesson order by all"
    )
    assert lessons == [(1, "早读", "07:30:00", 30), (2, None, "08:55:00", 45)]
    times = healthy.rows(
        "select course_class_id, weekday, lesson, location_ids, location_names, last_week, week_type"
        " from core.fct_timetable"
    )
    assert times == [(11, 1, 1, [5], "A5", 18, 0)]


def test_transcripts_keep_marks_as_text_and_number(healthy: Build) -> None:
    courses = healthy.rows(
        "select student_id, course_class_id, score_text, score::double, level, grade_points::double,"
        " rank_text, rank, is_published from core.fct_transcript_course order by class_code"
    )
    assert courses == [
        (1, 11, "90", 90.0, "A", 4.0, "1/3", 1, True),
        (1, None, None, None, None, None, None, None, False),
    ]


def test_what_identifies_a_person_beyond_name_and_number_stays_in_raw(healthy: Build) -> None:
    columns = healthy.rows(
        "select table_schema from information_schema.columns"
        " where column_name in ('idcard', 'email', 'avatar_url', 'guardian_role') group by all"
    )
    # OneRoster demands the column of the address, which stays blank; views.student_guardian has no rows of
    # its own.
    assert {schema for (schema,) in columns} == {"raw", "oneroster", "views"}
    assert healthy.rows('select count("email") from oneroster.users') == [(0,)]
