"""Card swipes: live, with an answer for the student, or offline and sent later."""

from datetime import datetime, time
from typing import Any

from simulator.http.platform import Platform
from simulator.http.routing import Route
from simulator.messages import Problem, Request, Response, json_response, parse_integer
from simulator.resources.v1.request_targets import current_semester, user
from simulator.resources.v1.writing.attendance import SCOPE, put_record, session_at, student_of
from simulator.resources.v1.writing.bodies import form_of, json_of
from simulator.school.devices import ATTENDANCE_SETTINGS
from simulator.school.rows import TIME_FORMAT, Row, Values
from simulator.school.timetable.weeks import LESSON_TIMES, week_of

TITLES = {
    "success": ("签到成功", "已记录出勤"),
    "exists": ("已签到", "本节课已有考勤记录"),
    "lated": ("迟到", "已记录迟到"),
    "finished": ("考勤已结束", "本节课的考勤已经停止"),
    "invalid": ("无效", "当前教室没有您的课程"),
}


def swipe_student(platform: Platform, request: Request) -> Response:
    """Record a live swipe of a student."""
    student = user(platform, request, 1)
    return json_response(_swipe(platform, request, student))


def swipe_card(platform: Platform, request: Request) -> Response:
    """Record a live swipe of a card; 404 for an unbound card."""
    card = request.params["id"]
    for row in platform.store.rows("cards", request.school_id):
        if row.values["card_id"] == card and row.deleted_at is None:
            return json_response(_swipe(platform, request, row.values["student_id"]))
    raise Problem(404, f"{card} is not bound")


def swipes_of_room(platform: Platform, request: Request) -> Response:
    """Record offline swipes. The last submission wins, so that no swipe counts twice."""
    room, sent = parse_integer("id", request.params["id"]), json_of(request)
    if not isinstance(sent, list) or not all(isinstance(swipe, dict) for swipe in sent):
        raise Problem(422, "the body must be a list of swipes")
    moments = [_moment(swipe.get("created_at")) for swipe in sent]
    return json_response(
        [
            _attended(platform, request.school_id, room, student_of(platform, request.school_id, swipe), at)
            for swipe, at in zip(sent, moments, strict=True)
        ]
    )


def _moment(text: Any) -> datetime:
    try:
        return datetime.strptime(str(text), TIME_FORMAT)
    except ValueError as error:
        raise Problem(422, f"created_at must be YYYY-MM-DD HH:MM:SS, not {str(text)[:40]!r}") from error


def _swipe(platform: Platform, request: Request, student: int) -> Values:
    room = parse_integer("classroom_id", form_of(platform, request).get("classroom_id", ""))
    at = platform.store.now
    if platform.readings.live_swipes == "lesson":
        at = datetime.combine(at.date(), time.fromisoformat(LESSON_TIMES[0][:5]))
    return _attended(platform, request.school_id, room, student, at)


def _attended(platform: Platform, school_id: int, room: int, student: int | None, at: datetime) -> Values:
    """Record a swipe for the student's class in the room at that time, and return the result."""
    lesson_now = None if student is None else _in_session(platform, school_id, room, student, at)
    if student is None or lesson_now is None:
        return _result(platform, school_id, "invalid", student, None)
    class_id, lesson, minutes = lesson_now
    if minutes > int(ATTENDANCE_SETTINGS["after_start_stop"]):
        return _result(platform, school_id, "finished", student, class_id)
    session = session_at(platform, class_id, at.date(), lesson)
    existing = _record(platform, session, student)
    late = minutes > int(ATTENDANCE_SETTINGS["after_start_lated"])
    status, mark = ("lated", "lated") if late else ("success", "normal")
    if existing is not None and existing.values["status"] == mark:
        return _result(platform, school_id, "exists", student, class_id)
    put_record(platform, session, student, mark)
    return _result(platform, school_id, status, student, class_id)


def _record(platform: Platform, session: Row, student: int) -> Row | None:
    rows = platform.store.rows("attendance_records", session.key)
    return next((row for row in rows if row.values["student_id"] == student and not row.deleted_at), None)


def _in_session(
    platform: Platform, school_id: int, room: int, student: int, at: datetime
) -> tuple[int, int, int] | None:
    """The class, the lesson, and the minutes since its start."""
    for semester_id in current_semester(platform, school_id):
        term = platform.store.term(semester_id)
        if term is None:
            continue
        week = week_of(term.start, at.date(), platform.readings.week_start)
        for class_id in platform.wire.directory.enrolled(semester_id).get(student, []):
            plan = platform.store.attendance.plan(class_id)
            for meeting in plan.lessons if plan and plan.is_on(week) else ():
                if meeting.room_id != room or meeting.day != at.isoweekday():
                    continue
                starts = datetime.combine(at.date(), time.fromisoformat(LESSON_TIMES[meeting.lesson - 1][:5]))
                minutes = (at - starts).total_seconds() / 60
                if -int(ATTENDANCE_SETTINGS["before_start_normal"]) <= minutes < 45:
                    return class_id, meeting.lesson, int(minutes)
    return None


def _result(
    platform: Platform, school_id: int, status: str, student: int | None, class_id: int | None
) -> Values:
    directory = platform.wire.directory
    profile = None if student is None else directory.profile(school_id, student)
    title, message = TITLES[status]
    return {
        "status": status,
        "title": title,
        "message": message,
        "reflection": directory.standing(profile),
        "klass": None if class_id is None else directory.encoded_class(class_id),
    }


ROUTES = (
    Route("POST", "/api/v1/students/{id}/attendances", swipe_student, v1=SCOPE),
    Route("POST", "/api/v1/studentcard/cards/{id}/attendance", swipe_card, v1=SCOPE),
    Route("POST", "/api/v1/classrooms/{id}/attendance-logs", swipes_of_room, v1=SCOPE),
)
