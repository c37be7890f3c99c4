"""Cards held to a reader: live, with an answer for the student, or taken offline and sent later."""

from datetime import datetime, time
from typing import Any

from simulator.http.platform import Platform
from simulator.http.routing import Route
from simulator.messages import Problem, Request, Response, json_response, parse_integer
from simulator.resources.v1.asking import current_semester, user
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
    """A student who is in a classroom now."""
    student = user(platform, request, 1)
    return json_response(_swipe(platform, request, student))


def swipe_card(platform: Platform, request: Request) -> Response:
    """The student behind a card; 404 for a card that is nobody's."""
    card = request.params["id"]
    for row in platform.store.rows("cards", request.school_id):
        if row.values["card_id"] == card and row.deleted_at is None:
            return json_response(_swipe(platform, request, row.values["student_id"]))
    raise Problem(404, f"{card} is not bound")


def swipes_of_room(platform: Platform, request: Request) -> Response:
    """Swipes that were taken offline; the last submission wins, so that nothing is ever counted twice."""
    room, sent = parse_integer("id", request.params["id"]), json_of(request)
    if not isinstance(sent, list) or not all(isinstance(each, dict) for each in sent):
        raise Problem(422, "the body must be a list of swipes")
    moments = [_moment(each.get("created_at")) for each in sent]
    return json_response(
        [
            _attended(platform, request.school_id, room, student_of(platform, request.school_id, each), at)
            for each, at in zip(sent, moments, strict=True)
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
    """What a swipe comes to, by the class that the student has in this room then."""
    found = None if student is None else _in_session(platform, school_id, room, student, at)
    if student is None or found is None:
        return _result(platform, school_id, "invalid", student, None)
    class_id, lesson, minutes = found
    if minutes > int(ATTENDANCE_SETTINGS["after_start_stop"]):
        return _result(platform, school_id, "finished", student, class_id)
    session = session_at(platform, class_id, at.date(), lesson)
    held = _record(platform, session, student)
    late = minutes > int(ATTENDANCE_SETTINGS["after_start_lated"])
    status, mark = ("lated", "lated") if late else ("success", "normal")
    if held is not None and held.values["status"] == mark:
        return _result(platform, school_id, "exists", student, class_id)
    put_record(platform, session, student, mark)
    return _result(platform, school_id, status, student, class_id)


def _record(platform: Platform, session: Row, student: int) -> Row | None:
    rows = platform.store.rows("attendance_records", session.key)
    return next((row for row in rows if row.values["student_id"] == student and not row.deleted_at), None)


def _in_session(
    platform: Platform, school_id: int, room: int, student: int, at: datetime
) -> tuple[int, int, int] | None:
    """The class, the lesson, and how many minutes it has gone on."""
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
