"""Attendance in v1: the sessions of a class, and a student's records of a semester."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import msgspec

from simulator.http.platform import Platform
from simulator.http.resource import Resource
from simulator.http.routing import Route, V1Scope
from simulator.messages import Problem, Request, Response, json_response
from simulator.resources.v1.request_targets import course_class, current_semester, semester_or_current, user
from simulator.school.rows import KEYS, Row, Values, class_of_session, semester_of
from simulator.store.statistics import shown_records, statistics
from simulator.store.store import Collection, Store
from simulator.wire.wire import Form, Shaper, Wire

SCOPE = V1Scope("class.read", own="attendance.read")


def parse_day(platform: Platform, name: str, text: str) -> date:
    """A date of the query, with `now` for the platform's today; 422 for other text."""
    if text == "now":
        return platform.store.today
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise Problem(422, f"{name} must be YYYY-MM-DD or now, not {text[:40]!r}") from error


def show_session(platform: Platform, request: Request) -> Response:
    """The statistics and records of a class, date and lesson."""
    key = course_class(platform, request).key
    if "date" not in request.query or "lesson" not in request.query:
        raise Problem(422, "date and lesson are required, to read one lesson")
    day = parse_day(platform, "date", request.query["date"]).isoformat()
    lesson = request.integer("lesson", least=1)
    session = _session(platform, key, day, lesson) if _is_meant(platform, request, key) else None
    if session is None and platform.readings.unrecorded != "zero":
        status = int(platform.readings.unrecorded)
        raise Problem(status, f"class {key} has no attendance on {day} in lesson {lesson}")
    return json_response(session_detail(platform, request.school_id, session))


def _is_meant(platform: Platform, request: Request, class_id: int) -> bool:
    """Whether a class belongs to the semester of the request."""
    semester_id = request.integer("semester_id")
    if semester_id is not None:
        return platform.wire.directory.semester_key(semester_id) == semester_of(class_id)
    if platform.readings.v1_without_semester == "all":
        return True
    return current_semester(platform, request.school_id) == [semester_of(class_id)]


def _session(platform: Platform, class_id: int, day: str, lesson: int | None) -> Row | None:
    for row in platform.store.rows("attendance_sessions", class_id):
        if row.values["date"] == day and row.values["lesson"] == lesson and row.deleted_at is None:
            return row
    return None


def session_detail(platform: Platform, school_id: int, session: Row | None) -> Values:
    """A session as the platform sends it: statistics, and records with their students."""
    rows = shown_records(platform.store, session.key) if session else []
    own = session.values.get("statistics") if session else None
    student = platform.wire.directory.encoded_student
    return {
        "statistics": statistics(platform.readings, rows) if own is None else own,
        "list": [
            _sent(values, "student", student(school_id, row.values["student_id"]))
            for row, values in zip(rows, platform.wire.rows("attendance_records", rows), strict=True)
        ],
    }


def list_of_student(platform: Platform, request: Request) -> Response:
    """A student's records of a semester, by default the current semester; newest first."""
    try:
        student = user(platform, request, 1)
    except Problem:
        if platform.readings.v1_unknown_student == "404":
            raise
        return json_response([])
    rows = [
        row
        for semester_id in semester_or_current(platform, request)
        for row in records_of(platform, semester_id, student)
    ]
    klass = platform.wire.directory.encoded_class
    sent = platform.wire.rows("attendance_records", rows)
    return json_response(
        [
            _sent(values, "klass", klass(row.values["class_id"]))
            for row, values in zip(rows, sent, strict=True)
        ]
    )


def records_of(platform: Platform, semester_id: int, student: int) -> list[Row]:
    """A student's records of a semester, newest first, from changed and generated sessions."""
    store = platform.store
    changed = store.changed("attendance_records")
    classes = store.index("classes", semester_id)
    records = [
        row
        for session_id, rows in changed.items()
        if _is_live(platform, classes, session_id)
        for row in rows
        if row.deleted_at is None and row.values.get("student_id") == student
    ]
    for membership in store.attendance.memberships(semester_id, student):
        if membership.class_id in classes and classes[membership.class_id].deleted_at is None:
            for session in store.rows("attendance_sessions", membership.class_id):
                if session.key not in changed and session.deleted_at is None:
                    records += store.attendance.record(session, membership, store.today)
    return sorted(records, key=_date_and_lesson, reverse=True)


def _is_live(platform: Platform, classes: Mapping[int, Row], session_id: int) -> bool:
    row = classes.get(class_of_session(session_id))
    session = platform.store.find("attendance_sessions", session_id)
    return all(part is not None and part.deleted_at is None for part in (row, session))


def _date_and_lesson(row: Row) -> tuple[str, int]:
    day, lesson = row.values["checked_at"], row.values["lesson"]
    return (day if isinstance(day, str) else "", lesson if isinstance(lesson, int) else 0)


def _sent(values: Values, name: str, card: msgspec.Raw) -> dict[str, Any]:
    sent = {**values, name: card}
    del sent["class_id"], sent["student_id"]
    return sent


def _session_shapers(wire: Wire) -> Iterable[Shaper]:
    yield lambda row, values: _add_statistics(wire, row, values)


def _add_statistics(wire: Wire, row: Row, values: Values) -> None:
    rows = shown_records(wire.store, row.key)
    values.setdefault("statistics", statistics(wire.readings, rows))


def _records(store: Store, session_id: int) -> list[Row]:
    session = store.find("attendance_sessions", session_id)
    return store.attendance.records(session, store.today) if session else []


def _new_record(store: Store, session_id: int, _key: int) -> Values:
    session = store.find("attendance_sessions", session_id)
    when = session.values if session else {"date": None, "lesson": None}
    place = {"class_id": class_of_session(session_id)}
    return {"checked_at": when["date"], "lesson": when["lesson"], **place}


RESOURCES = (
    Resource(
        "attendance_sessions",
        Collection(
            KEYS["attendance_sessions"],
            lambda store, class_id: store.seed.sessions(class_id, store.today),
            hidden_with_class=True,
        ),
        Form(shapers=_session_shapers),
        routes=(
            Route(
                "GET",
                "/api/v1/classes/{id}/attendances",
                show_session,
                v1=SCOPE,
                parameters=frozenset({"semester_id", "date", "lesson"}),
            ),
        ),
    ),
    Resource(
        "attendance_records",
        Collection(KEYS["attendance_records"], _records, identity=_new_record, hidden_with_class=True),
        Form(enum="status"),
        routes=(
            Route(
                "GET",
                "/api/v1/students/{id}/attendances",
                list_of_student,
                v1=SCOPE,
                parameters=frozenset({"semester_id"}),
            ),
        ),
    ),
)
