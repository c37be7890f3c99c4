"""Timetables of students, teachers and classrooms, and the days and lessons of a week."""

from datetime import date, datetime, timedelta, timezone
from functools import partial

from simulator.http.platform import Platform
from simulator.http.routing import Route, V1Scope
from simulator.messages import Problem, Request, Response, json_response, parse_integer
from simulator.resources.v1.attendance import parse_day
from simulator.resources.v1.request_targets import live, semester_or_current, user
from simulator.school.rows import Row, Values
from simulator.school.timetable.weeks import shown_day, week_of

DAYS = ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日")
SCOPE = V1Scope("class.read")
CHINA = timezone(timedelta(hours=8))


def of_person(role: int, platform: Platform, request: Request) -> Response:
    """The classes of a student or a teacher, limited to the day of the request, if any."""
    key = user(platform, request, role)
    dated = role == 1  # the specification names no date for teachers
    rows = []
    for semester_id in semester_or_current(platform, request):
        wanted = platform.wire.directory.enrolled(semester_id).get(key, [])
        classes = platform.store.index("v1_classes", semester_id)
        rows += [classes[class_id] for class_id in wanted if classes[class_id].deleted_at is None]
    return _answer(platform, request, rows, dated)


def of_room(platform: Platform, request: Request) -> Response:
    """The classes of a classroom. With a day, only the lessons in that room."""
    room_id = parse_integer("id", request.params["id"])
    rows = [
        row
        for semester_id in semester_or_current(platform, request)
        for row in platform.store.rows("v1_classes", semester_id)
        if row.deleted_at is None and any(e.get("location_id") == room_id for e in _entries(row))
    ]
    return _answer(platform, request, rows, True, room_id)


def _answer(
    platform: Platform, request: Request, rows: list[Row], dated: bool, room_id: int | None = None
) -> Response:
    sent = platform.wire.rows("v1_classes", rows)
    text = request.query.get("date")
    if text is None or not dated:
        return json_response(sent)
    day = parse_day(platform, "date", text)
    lessons: list[Values] = []
    for row, values in zip(rows, sent, strict=True):
        for entry in _entries(row):
            if room_id in (None, entry.get("location_id")) and _is_on(platform, row, entry, day):
                lessons.append({**values, **_lesson(platform, row, entry["lesson"], day)})
    return json_response(sorted(lessons, key=lambda shown: int(shown["lesson"])))


def _entries(row: Row) -> list[Values]:
    """The schedule entries that mean a time."""
    entries = row.values["schedules"]
    if not isinstance(entries, list):
        return []
    return [
        e for e in entries if isinstance(e, dict) and _is_time(e.get("day")) and _is_time(e.get("lesson"))
    ]


def _is_time(value: object) -> bool:
    return isinstance(value, int) and value > 0


def _is_on(platform: Platform, row: Row, entry: Values, day: date) -> bool:
    term = platform.store.term(row.values["semester_id"])
    if term is None or not term.start <= day <= term.end or entry["day"] != _shown(platform, day):
        return False
    week = week_of(term.start, day, platform.readings.week_start)
    plan = platform.store.attendance.plan(row.key)
    return plan is None or plan.is_on(week)


def _lesson(platform: Platform, row: Row, lesson: int, day: date) -> Values:
    """The further fields of a class for a request with a day, after the last lesson."""
    semester = live(platform, "v1_semesters", row.values["school_id"], row.values["semester_id"])
    shown = next((made for made in _lessons(semester) if made["lesson"] == lesson), None)
    if shown is None:
        raise Problem(404, f"there is no lesson {lesson} in a day")
    return {
        "lesson": lesson,
        "lesson_name": shown["label"],
        "lesson_start_time": shown["start_time"],
        "lesson_start_timestamp": _unix(day, shown["start_time"]),
        "lesson_end_time": shown["end_time"],
        "lesson_end_timestamp": _unix(day, shown["end_time"]),
        "lesson_is_current": False,
    }


def _lessons(semester: Row) -> list[Values]:
    names = semester.values["lesson_names"]
    lessons: list[Values] = []
    for number, text in enumerate(semester.values["lesson_schedules"], 1):
        start, _, end = text.partition("-")
        lessons.append(
            {
                "lesson": number,
                "time": text,
                "start_time": start,
                "end_time": end,
                "label": names[number - 1] if number <= len(names) else f"第{number}节",
                "is_current": False,
            }
        )
    return lessons


def structure(platform: Platform, request: Request) -> Response:
    """The teaching days and lessons of a week."""
    semester_ids = semester_or_current(platform, request)
    if not semester_ids:
        raise Problem(404, f"school {request.school_id} has no such semester")
    semester = live(platform, "v1_semesters", request.school_id, semester_ids[0])
    today = _shown(platform, platform.store.today)
    labels = {shown_day(weekday, platform.readings.v1_days): label for weekday, label in enumerate(DAYS, 1)}
    days = [
        {"day": day, "label": labels[day], "is_current": day == today}
        for day in semester.values["lesson_days"]
    ]
    return json_response({"days": days, "lessons": _lessons(semester)})


def _shown(platform: Platform, day: date) -> int:
    return shown_day(day.isoweekday(), platform.readings.v1_days)


def _unix(day: date, time: str) -> int:
    return int(datetime.fromisoformat(f"{day} {time}").replace(tzinfo=CHINA).timestamp())


ROUTES = (
    Route("GET", "/api/v1/timetable/students/{id}", partial(of_person, 1), v1=SCOPE),
    Route("GET", "/api/v1/timetable/teachers/{id}", partial(of_person, 2), v1=SCOPE),
    Route("GET", "/api/v1/timetable/classrooms/{id}", of_room, v1=SCOPE),
    Route("GET", "/api/v1/timetable/structure", structure, v1=SCOPE, parameters=frozenset({"semester_id"})),
)
