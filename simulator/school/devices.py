"""Classroom devices, student cards, attendance settings and the newest app, for class signs."""

from datetime import date

from simulator.school import users
from simulator.school.base import School
from simulator.school.calendar import stamp
from simulator.school.rows import KEYS, Row, Values
from simulator.school.timetable.plan import HOME_ROOMS

STATUSES = ("normal", "idle", "notice", "blank")
CARD_SHARE = 5  # one of so many students has no card
ATTENDANCE_SETTINGS = {
    "first_start_duration": "30",
    "before_start_normal": "10",
    "after_start_lated": "5",
    "after_start_stop": "40",
}
APP_UPDATE = {
    "latest_version": "2.14.3",
    "download_url": "https://download.example.edu.cn/classroompad-2.14.3.apk",
    "change_logs": "修复考勤显示\n优化课表",
}


def build(school: School) -> dict[str, list[Row]]:
    """The rows of a school that only v1 shows, by resource."""
    since = next(iter(school.semesters.values())).start
    return {
        "user_fields": users.fields(school.id, since),
        "attendance_settings": attendance_settings(school.id, since),
        "devices": devices(school, since),
        "cards": cards(school, since),
    }


def devices(school: School, since: date) -> list[Row]:
    """A device per home room, named pad-<school>-<number>, in the first forty rooms."""
    return [
        _device(school.id, number, HOME_ROOMS + made.id % 10_000, since)
        for number, made in enumerate(school.admin_classes[:40], 1)
    ]


def _device(school_id: int, number: int, room_id: int, since: date) -> Row:
    status = STATUSES[(number - 1) % len(STATUSES)]
    values: Values = {
        "id": KEYS["devices"].key(school_id, number),
        "device_id": f"pad-{school_id}-{number}",
        "classroom_id": room_id,
        "current_status": status,
    }
    if status == "notice":
        values["notification"] = {"title": "期中考试", "content": "<p>请保持安静</p>"}
    if status in ("normal", "idle"):
        values["next_class_time"] = "08:00"
    return Row(values["id"], values, stamp(since))


def cards(school: School, since: date) -> list[Row]:
    """A card for most students, named card-<student>."""
    rows = []
    for number, student in enumerate(school.rows["students"], 1):
        if number % CARD_SHARE and student.deleted_at is None:
            key = KEYS["cards"].key(school.id, number)
            values = {"id": key, "card_id": f"card-{student.key}", "student_id": student.key}
            rows.append(Row(key, values, stamp(since)))
    return rows


def attendance_settings(school_id: int, first_day: date) -> list[Row]:
    """The row of a school's attendance settings."""
    key = KEYS["attendance_settings"].key(school_id, 1)
    return [Row(key, dict(ATTENDANCE_SETTINGS), stamp(first_day))]


def app_updates(today: date) -> list[Row]:
    """The newest version of the app, the same for all schools."""
    return [Row(KEYS["app_updates"].key(0, 1), dict(APP_UPDATE), stamp(today))]
