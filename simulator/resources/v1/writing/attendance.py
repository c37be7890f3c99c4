"""Marks of a lesson, which a teacher sets for several students at once."""

from datetime import date
from typing import Any

from simulator.http.platform import Platform
from simulator.http.routing import Route, V1Scope
from simulator.messages import Problem, Request, Response
from simulator.resources.v1.attendance import SCOPE as READING
from simulator.resources.v1.request_targets import course_class
from simulator.resources.v1.writing.bodies import json_of
from simulator.school.rows import Row, Values
from simulator.school.timetable.attendance import CONCLUSIONS, STATUS_LABELS

SCOPE = V1Scope(READING.plain, own="attendance.write")
RESULTS = ("normal", "absent", "lated", "early_left")


def mark_lesson(platform: Platform, request: Request) -> Response:
    """Set the marks of some students in a lesson. The reading decides about the marks of the others."""
    class_id = course_class(platform, request).key
    day = _day(request.query.get("checked_at", ""))
    lesson = request.integer("lesson", least=1)
    if lesson is None:
        raise Problem(422, "lesson is required")
    sent = json_of(request)
    if not isinstance(sent, list) or not all(isinstance(mark, dict) for mark in sent):
        raise Problem(422, "the body must be an array of objects")
    marks = dict(filter(None, (_mark(platform, request.school_id, class_id, mark) for mark in sent)))
    session = session_at(platform, class_id, day, lesson)
    if platform.readings.unmentioned_marks == "lost":
        for row in list(platform.store.rows("attendance_records", session.key)):
            if row.values["student_id"] not in marks:
                platform.store.destroy("attendance_records", row.key)
    for student, result in marks.items():
        put_record(platform, session, student, result)
    return Response(204, b"", [])


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise Problem(422, f"checked_at must be YYYY-MM-DD, not {text[:40]!r}") from error


def _mark(platform: Platform, school_id: int, class_id: int, sent: Values) -> tuple[int, str] | None:
    if sent.get("result") not in RESULTS:
        raise Problem(422, f"result must be one of {', '.join(RESULTS)}")
    student = student_of(platform, school_id, sent)
    if student is None or student not in platform.wire.directory.students_of(class_id):
        if platform.readings.unknown_marks == "ignored":
            return None
        raise Problem(422, f"{sent.get('rid') or sent.get('usin')} is no student of the class")
    return student, sent["result"]


def student_of(platform: Platform, school_id: int, sent: Values) -> int | None:
    """The student of a rid or usin."""
    users = platform.store.index("v1_users", school_id)
    if "rid" in sent:
        row = users.get(sent["rid"])
        return row.key if row and row.deleted_at is None and row.values["role"] == 1 else None
    usin = sent.get("usin")
    students = (
        row.key
        for row in users.values()
        if usin and row.values["usin"] == usin and row.values["role"] == 1 and row.deleted_at is None
    )
    return next(students, None)


def session_at(platform: Platform, class_id: int, day: date, lesson: int) -> Row:
    """The session of a class at a lesson. A new session has no records."""
    store = platform.store
    for row in store.rows("attendance_sessions", class_id):
        if (row.values["date"], row.values["lesson"]) == (day.isoformat(), lesson) and not row.deleted_at:
            return row
    values = {"class_id": class_id, "date": day.isoformat(), "lesson": lesson}
    row = store.insert("attendance_sessions", class_id, values)
    for record in list(store.rows("attendance_records", row.key)):
        store.destroy("attendance_records", record.key)
    return row


def put_record(platform: Platform, session: Row, student: int, result: str) -> Row:
    """Set the mark of a student in a session."""
    store = platform.store
    values: dict[str, Any] = {
        "status": result,
        "status_label": STATUS_LABELS[result],
        "absence_label": "",
        "conclusion_label": CONCLUSIONS[result],
        "created_date": store.now.date().isoformat(),
        "created_time": f"{store.now:%H:%M}",
        "created_date_label": "今天",
    }
    for row in store.rows("attendance_records", session.key):
        if row.values["student_id"] == student and row.deleted_at is None:
            return store.update("attendance_records", row.key, values)
    return store.insert("attendance_records", session.key, {"student_id": student, **values})


ROUTES = (
    Route(
        "PUT",
        "/api/v1/classes/{id}/attendances",
        mark_lesson,
        v1=SCOPE,
        parameters=frozenset({"checked_at", "lesson"}),
    ),
)
