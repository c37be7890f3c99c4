"""Raw rows by hand: two healthy schools, and a platform where everything is wrong that a check looks for."""

_LEFT = "2026-02-01 08:00:00"

# School 1 has two course classes; student 3 has left it. School 2 has the same ids, and rows of its own.
HEALTHY: dict[str, list[dict[str, object]]] = {
    "schools": [{"id": 1, "name": "一中"}, {"id": 2, "name": "二中", "_school_id": 2}],
    "terms": [
        {"id": 1, "type": "system.graduates_in", "name": "2028", "label": "2028届", "parent_id": 0},
        {"id": 2, "type": "system.academic_year", "name": "2025-2026", "label": None, "parent_id": 0},
        {"id": 3, "type": "system.semester_category", "name": "first", "label": "第一学期", "parent_id": 0},
        {"id": 4, "type": "course.subject", "name": "maths", "label": "数学", "parent_id": 0},
        {"id": 1, "type": "course.subject", "name": "Art", "parent_id": 0, "_school_id": 2},
    ],
    "semesters": [
        {"id": 20, "name": "秋季", "academic_year_id": 2, "category_id": 3, "is_current": True},
        {"id": 20, "name": "Autumn", "is_current": True, "_school_id": 2},
    ],
    "structures": [
        {"id": 1, "name": "总校", "type": "headquarters", "path": "1", "status": "normal"},
        {"id": 2, "name": "高一", "type": "grade", "path": "1/2", "status": "normal"},
    ],
    "students": [
        {"id": 1, "name": "王一", "role": "student", "usin": "0001", "graduates_in_id": 1},
        {"id": 2, "name": "李二", "role": "student", "usin": "0002", "graduates_in_id": 1},
        {"id": 3, "name": "张三", "role": "student", "usin": "0003", "graduates_in_id": 1}
        | {"_deleted_at": _LEFT},
        {"id": 1, "name": "Ann", "role": "student", "usin": "A1", "_school_id": 2},
    ],
    "teachers": [
        {"id": 50, "name": "陈老师", "role": "teacher", "phone": "1", "department_names": "[数学组]"},
    ],
    "reflections": [
        *({"id": user, "role": "student"} for user in (1, 2, 3)),
        {"id": 50, "role": "teacher"},
        {"id": 1, "role": "student", "_school_id": 2},
    ],
    # Named by the course classes alone, student 3 was in class 501 and has left.
    "admin_classes": [
        {
            "id": 501,
            "name": "1班",
            "graduates_in_id": 1,
            "teachers": "[{'id': 50, 'name': 陈老师, 'usin': T50}]",
            "students": "[{'id': 1, 'name': 王一, 'usin': '0001'}, {'id': 2, 'name': 李二, 'usin': '0002'}]",
        }
    ],
    "classes": [
        {
            "id": 11,
            "semester_id": 20,
            "csin": "M-1",
            "name": "数学",
            "subject_id": 4,
            "admin_class_ids": "[501]",
            # In two roles, which makes one teacher.
            "teachers": "[{'id': 50, 'name': 陈老师, 'usin': T50}, {'id': 50, 'name': 陈老师, 'usin': T50}]",
        },
        {"id": 12, "semester_id": 20, "csin": "A-1", "name": "美术", "admin_class_ids": "[501]"},
        {"id": 11, "semester_id": 20, "csin": "ART", "name": "Art", "_school_id": 2},
    ],
    "class_members": [
        {"class_id": 11, "type": "student", "reflection_id": 1, "created_at": "2025-09-01 00:00:00"},
        {"class_id": 11, "type": "student", "reflection_id": 2},
        {"class_id": 11, "type": "student", "reflection_id": 3, "deleted_at": _LEFT},
        {"class_id": 11, "type": "teacher", "reflection_id": 50},
        {"class_id": 12, "type": "student", "reflection_id": 1},
    ],
    "assessments": [
        {"id": 7, "class_id": 11, "semester_id": 20, "full_score": "100"},
        # Its semester is its class's.
        {"id": 8, "class_id": 12, "semester_id": None, "full_score": "50"},
        {"id": 7, "class_id": 11, "semester_id": 20, "full_score": "10", "_school_id": 2},
    ],
    "assessment_items": [
        {"id": 71, "assessment_id": 7, "pid": 0, "name": "平时", "type": "dimension"},
        {"id": 72, "assessment_id": 7, "pid": 71, "name": "作业", "type": "item", "tags": "[{'name': 优}]"}
        | {"scoring_type": "score", "full_score": "10"},
    ],
    "scores": [
        {"id": 1, "assessment_id": 7, "item_id": 72, "owner_id": 1, "type": "item_score", "score": "9.5"},
        {"id": 2, "assessment_id": 7, "item_id": 72, "owner_id": 2, "type": "item_score", "score": "0"},
        {"id": 3, "assessment_id": 7, "item_id": 72, "owner_id": 3, "type": "item_score", "score": None},
        {"id": 4, "assessment_id": 7, "item_id": 72, "owner_id": 1, "type": "raw", "score": "1"}
        | {"valid": False},
        {"id": 5, "assessment_id": 7, "item_id": 72, "owner_id": 1, "type": "raw", "_deleted_at": _LEFT},
    ],
    "grades": [
        # Student 1: 90 of 100 with credit 3, and 25 of 50 (suggested) with credit 1; points 4 and 1 as sent.
        {"id": 1, "source_id": 7, "owner_id": 1, "full_score": "100", "score": "90", "real_score": "90"}
        | {"suggest_score": "88", "credit": "3", "gpa": "4", "pass_status": "passed"},
        {"id": 2, "source_id": 8, "owner_id": 1, "full_score": "50", "score": None, "real_score": "25"}
        | {"suggest_score": "25", "credit": "1", "gpa": "1", "pass_status": "pending"},
        # Student 2: zero points of 100.
        {"id": 3, "source_id": 7, "owner_id": 2, "full_score": "100", "score": "0", "real_score": "0"}
        | {"suggest_score": "70", "credit": "3", "pass_status": "failed"},
        # Student 3 has left, and keeps the grade.
        {"id": 4, "source_id": 7, "owner_id": 3, "full_score": "100", "score": "80", "real_score": "80"}
        | {"credit": "3"},
        # Deleted: out of every number.
        {"id": 5, "source_id": 8, "owner_id": 2, "full_score": "50", "score": "50", "_deleted_at": _LEFT},
        # School 2: nobody was scored yet.
        {"id": 1, "source_id": 7, "owner_id": 1, "full_score": "10", "_school_id": 2},
    ],
    # Student 1's first grade was 85 until 10 January; grade 5 was there until then.
    "changes": [
        {"resource": "grades", "op": "loaded", "seen_at": "2026-01-01 02:00:00", "slice_version": 1},
        {"resource": "grades", "key": "1", "op": "updated", "field": "score", "before": "85", "after": "90"}
        | {"seen_at": "2026-01-10 02:00:00", "slice_version": 2},
        {"resource": "grades", "key": "5", "op": "deleted", "seen_at": "2026-01-10 02:00:00"}
        | {"slice_version": 2},
    ],
    # v1: the same people and classes, but class 12 is 112 there.
    "v1_semesters": [
        {
            "id": 20,
            "name": "秋季",
            "start_at": "2026-03-02",
            "end_in": "2026-07-05",
            "grade_maps": "{高一=2028}",
        }
        | {"lesson_days": "[1, 2, 3, 4, 5]", "lesson_schedules": "['08:00-08:45', '08:55-09:40']"},
    ],
    "v1_classes": [
        {"id": 11, "semester_id": 20, "csin": "M-1", "name": "数学", "start_at": 1, "end_in": 18}
        | {"teachers": "[{'id': 50, 'name': 陈老师}, {'id': 50, 'name': 陈老师}]"}
        | {"locations": "[{'id': 5, 'name': A5}]"}
        | {"schedules": "[{'day': 1, 'lesson': 1, 'location_id': 5}, {'day': 0, 'lesson': 0}]"},
        {"id": 112, "semester_id": 20, "csin": "A-1", "name": "美术"},
    ],
    "v1_class_students": [{"class_id": 11, "student_id": user, "usin": f"000{user}"} for user in (1, 2)],
    "v1_users": [
        *({"id": user, "role": 1, "usin": f"000{user}", "phone": "1"} for user in (1, 2)),
        {"id": 50, "role": 2, "phone": "1", "idcard": None},
    ],
    "v1_admin_classes": [
        {
            "id": 501,
            "name": "1班",
            "grade_name": "高一",
            "students": "[{'rid': 1, 'name': 王一}, {'id': 9, 'reflection': {'id': 2, 'name': 李二}}]",
        }
    ],
    "timetable_days": [{"semester_id": 20, "day": 1, "label": "周一"}],
    "timetable_lessons": [{"semester_id": 20, "lesson": 1, "label": "早读", "time": "07:30-08:00"}],
    "attendance_sessions": [
        {"class_id": 11, "date": "2026-03-02", "lesson": 1, "scheduled": True, "normal": 1, "late": 0}
        | {"absent": 1, "attendance_rate": "50"},
        # Nobody took the roll of the second Monday, but of class 112, whose records are older.
        {"class_id": 11, "date": "2026-03-09", "lesson": 1, "scheduled": True},
        {"class_id": 112, "date": "2026-03-09", "lesson": 2, "scheduled": False},
    ],
    "attendance_records": [
        {"id": 1, "class_id": 11, "student_id": 1, "checked_at": "2026-03-02", "status": "normal"},
        {"id": 2, "class_id": 11, "student_id": 3, "checked_at": "2026-03-02", "status": "absent"}
        | {"absence_label": "病假"},
        {"id": 3, "class_id": 112, "student_id": 1, "checked_at": "2026-03-09", "status": "lated"}
        | {"lesson": 2},
        {"id": 4, "class_id": 11, "student_id": 2, "checked_at": "2026-03-02", "_deleted_at": _LEFT},
    ],
    "transcript_courses": [
        {"student_id": 1, "semester_id": 20, "source_id": 7, "csin": "M-1", "class_id": 11}
        | {"evaluation": "{100=90, abc=A, gpa=4.0, rank=1/3}", "published": True},
        {"student_id": 1, "semester_id": 20, "source_id": 0, "csin": "X-1", "class_id": 0},
    ],
    # The second is outside all semesters.
    "interventions": [
        {"student_id": 1, "date": "2026-03-09", "kind": "talk", "done_by": "陈老师", "result": "好"}
        | {"again_on": "2026-03-23"},
        {"student_id": 2, "date": "2020-01-01", "kind": "plan"},
        {"student_id": 2, "date": "2026-03-09", "kind": "talk", "_deleted_at": _LEFT},
    ],
}

# What school 1's course class 11 left behind when it moved from semester 19 to 20: a tombstone, which may be
# newer than the live row, or a live row that the next reading of semester 19 will bury.
_BURIED = {"_deleted_at": _LEFT, "_synced_at": "2026-03-02 02:00:00", "semester_id": 19}
_STALE = {"_synced_at": "2026-02-01 02:00:00", "semester_id": 19}
_MOVED: dict[str, list[dict[str, object]]] = {
    "classes": [{"id": 11, "csin": "old", **_BURIED}, {"id": 11, "csin": "stale", **_STALE}],
    "class_members": [
        {"class_id": 11, "type": "student", "reflection_id": 1, "_deleted_at": _LEFT},
        {"class_id": 11, "type": "student", "reflection_id": 2, "_synced_at": _LEFT, "class_together": True},
    ],
    "assessments": [
        {"id": 7, "class_id": 11, "full_score": "1", **_BURIED},
        {"id": 7, "class_id": 11, "full_score": "2", **_STALE},
        # Gone from both semesters: the later tombstone is told.
        {"id": 9, "class_id": 11, "full_score": "3", **_STALE, "_deleted_at": _LEFT},
        {"id": 9, "class_id": 11, "full_score": "4", "semester_id": 20, "_deleted_at": _LEFT},
    ],
    "assessment_items": [
        {"id": 72, "assessment_id": 7, "pid": 71, "name": "old", "_deleted_at": _LEFT},
        {"id": 72, "assessment_id": 7, "pid": 71, "name": "stale", "_synced_at": _LEFT},
    ],
    "scores": [
        {"id": 1, "assessment_id": 7, "item_id": 72, "owner_id": 1, "score": "1", "_deleted_at": _LEFT},
        {"id": 1, "assessment_id": 7, "item_id": 72, "owner_id": 1, "score": "2", "_synced_at": _LEFT},
    ],
    "grades": [
        {"id": 1, "source_id": 7, "owner_id": 1, "score": "1", **_BURIED},
        {"id": 1, "source_id": 7, "owner_id": 1, "score": "2", "source": "class", **_STALE},
    ],
}
for _record in HEALTHY["attendance_records"]:
    _record.update(
        {"lesson": 1, "created_date": _record["checked_at"], "created_time": "08:05", "absence_label": ""}
        | {"_synced_at": "2026-03-17 02:00:00"}
        | _record
    )
for _score in HEALTHY["scores"]:
    _score.update({"created_at": "2026-03-05 10:00:00", "updated_at": "2026-03-05 10:00:00"} | _score)
for _grade in HEALTHY["grades"]:
    _grade.update({"source": "class", "semester_id": 20, "status": "published"})
for _table, _rows in _MOVED.items():
    HEALTHY[_table] += _rows

# HEALTHY after its semester. Student 5, who has the best grade and was late, left the school then. He names
# no structure, so that he is in those of his administrative class, whose list of students names him no more.
_AFTER = "2026-03-16 08:00:00"
ENDED: dict[str, list[dict[str, object]]] = HEALTHY | {
    "semesters": [{"id": 20, "name": "秋季", "is_current": False}],
    "v1_semesters": [{**HEALTHY["v1_semesters"][0], "end_in": "2026-03-10"}],
    "students": [
        *(student | {"structure_ids": "[2]"} for student in HEALTHY["students"]),
        {
            "id": 5,
            "name": "赵五",
            "role": "student",
            "usin": "0005",
            "graduates_in_id": 1,
            "_deleted_at": _AFTER,
        },
    ],
    "reflections": [*HEALTHY["reflections"], {"id": 5, "role": "student", "_deleted_at": _AFTER}],
    "admin_classes": [{**HEALTHY["admin_classes"][0], "structure_ids": "[2]"}],
    "class_members": [
        *HEALTHY["class_members"],
        {"class_id": 11, "type": "student", "reflection_id": 5, "deleted_at": _AFTER},
    ],
    "scores": [
        *HEALTHY["scores"],
        {**HEALTHY["scores"][0], "id": 6, "owner_id": 5, "score": "10"},
    ],
    "grades": [
        *HEALTHY["grades"],
        {**HEALTHY["grades"][0], "id": 6, "owner_id": 5, "score": "95", "real_score": "95"},
    ],
    "attendance_records": [
        *HEALTHY["attendance_records"],
        {**HEALTHY["attendance_records"][0], "id": 5, "student_id": 5, "status": "lated"},
    ],
}

BROKEN: dict[str, list[dict[str, object]]] = {
    "schools": [{"id": 1, "name": "一中"}],
    "terms": [{"id": 1, "type": "course.subject", "name": "maths", "parent_id": 999}],
    "semesters": [{"id": 20, "name": "秋季", "academic_year_id": 999, "category_id": 999}],
    "structures": [{"id": 1, "name": "总校", "type": "galaxy", "status": "lost", "parent_id": 999}],
    "students": [{"id": 1, "name": "王一", "role": "pilot", "graduates_in_id": 999}],
    # Twice the same key, and a null one.
    "teachers": [
        {"id": 50, "role": "pilot"},
        {"id": 50, "role": "teacher"},
        {"id": None, "role": "teacher"},
    ],
    "reflections": [{"id": 2, "role": "pilot"}],
    # Student 1 is in two classes, of one of which v1 says something else.
    "admin_classes": [
        {"id": 501, "graduates_in_id": 999, "students": "[{'id': 1}]"},
        {"id": 502, "students": "[{'id': 1}]"},
    ],
    "v1_admin_classes": [{"id": 502, "students": "[{'id': 77}]"}],
    "classes": [
        {"id": 11, "semester_id": 999, "subject_id": 999, "domain_id": 999, "admin_class_ids": "[999]"},
    ],
    "class_members": [
        {"class_id": 11, "type": "student", "reflection_id": 1},
        {"class_id": 999, "type": "student", "reflection_id": 2},
    ],
    "assessments": [{"id": 7, "class_id": 999, "semester_id": 999}],
    "assessment_items": [
        {"id": 1, "assessment_id": 999, "pid": 999, "type": "?", "scoring_type": "?", "display_type": "?"},
        # Four levels; more digits than any mark has.
        {"id": 2, "assessment_id": 7, "pid": 0, "full_score": "0.0000001"},
        {"id": 3, "assessment_id": 7, "pid": 2},
        {"id": 4, "assessment_id": 7, "pid": 3},
        {"id": 5, "assessment_id": 7, "pid": 4},
    ],
    "scores": [
        {"id": 1, "assessment_id": 999, "item_id": 999, "owner_id": 999, "evaluator_id": 999, "type": "?"},
        {"id": 2, "assessment_id": 7, "item_id": 2, "owner_id": 1, "score": "12345678901234567890"},
        # A school that nobody knows.
        {"id": 3, "_school_id": 9},
    ],
    "grades": [
        # Two of one student for one assessment, whose real_score is neither score nor suggest_score.
        {"id": 1, "source": "class", "source_id": 7, "owner_id": 1, "score": "60", "real_score": "61"},
        {"id": 2, "source": "class", "source_id": 7, "owner_id": 1, "suggest_score": "60"},
        # 0 was given, so the suggested 55 is not the real score.
        {"id": 3, "source": "class", "source_id": 8, "owner_id": 1, "score": "0", "suggest_score": "55"}
        | {"real_score": "55"},
        # An assessment, a student and statuses that nobody knows, two rows; no semester.
        {"id": 4, "source": "class", "source_id": 999, "owner_id": 999, "status": "?", "pass_status": "?"},
        {"id": 5, "source": "tombola", "owner_id": 999, "status": "?", "pass_status": "?"},
        {"id": 6, "_school_id": 9, "credit": "12345678901234567890"},
    ],
    # Semester 999 is nobody's; class 12 and student 999 are of v1 alone.
    "v1_classes": [
        {"id": 11, "semester_id": 999, "schedules": "[{'day': 1, 'lesson': 1, 'location_id': 5}]"},
    ],
    "timetable_lessons": [{"semester_id": 999, "lesson": 1}],
    "attendance_records": [
        {"id": 1, "class_id": 11, "student_id": 999, "checked_at": "2026-03-02", "lesson": 1, "status": "?"},
        {
            "id": 2,
            "class_id": 12,
            "student_id": 1,
            "checked_at": "2026-03-02",
            "lesson": 1,
            "status": "normal",
        },
        # Nobody's, and a school that nobody knows.
        {"id": 3, "class_id": 12, "checked_at": "2026-03-02", "lesson": 1, "status": "normal"},
        {"id": 4, "class_id": 12, "student_id": 1, "checked_at": "2026-03-02", "lesson": 1, "_school_id": 9},
    ],
    "transcript_courses": [
        {"student_id": 999, "semester_id": 999, "source_id": 1, "class_id": 999, "csin": "X"}
        | {"credit": "12345678901234567890"},
        {"student_id": 1, "semester_id": 20, "source_id": 1, "csin": "X", "_school_id": 9},
    ],
    "interventions": [{"student_id": 999, "date": "2026-03-09", "kind": "talk"}],
}
