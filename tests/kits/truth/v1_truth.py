"""What is true of a school in the v1 interface, asked for with plain HTTP and typed without `campus`."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import httpx
import pyarrow as pa

from loading.tables import TABLES
from simulator.process import RunningSimulator

Row = dict[str, Any]
WITHHELD = ("idcard", "password")
# Those whose rows the simulator tells as it would send them.
OF_SCHOOL = ("v1_semesters", "v1_admin_classes", "user_fields", "v1_users", "attendance_settings")
STUDENT = 1
MAKERS: tuple[tuple[Callable[[Any], bool], Callable[[str], Any]], ...] = (
    (pa.types.is_timestamp, dt.datetime.fromisoformat),
    (pa.types.is_date, dt.date.fromisoformat),
    (pa.types.is_decimal, Decimal),
    (pa.types.is_integer, int),
)


@dataclass(frozen=True)
class Asked:
    """One school, what settings name of it, and the semester whose classes are looked at; None: all."""

    platform: RunningSimulator
    session: httpx.Client
    school_id: int = 101
    semester_id: int | None = None
    devices: Sequence[str] = ()
    cards: Sequence[str] = ()

    def get(self, path: str) -> Any:
        """An answer by Python's own JSON; None: 404."""
        credentials = {"client_id": self.platform.client_id, "client_secret": self.platform.client_secret}
        scopes = "class.read user.read semester.read admin_class.read reflection.read_all student.read_all"
        scope = f"school.{self.school_id} {scopes}"
        grant = {"grant_type": "client_credentials", "scope": scope, **credentials}
        token = self.session.post("/api/v3/oauth/tokens", json=grant).raise_for_status().json()
        headers = {
            "authorization": f"Bearer {token['access_token']}",
            "x-school-id": str(self.school_id),
        }
        answer = self.session.get(f"/api/v1/{path}", headers=headers)
        return None if answer.status_code == 404 else answer.raise_for_status().json()

    def rows(self, resource: str, semester_id: int | None = None) -> list[Row]:
        entries = self.platform.rows(resource, self.school_id, semester_id)
        return [entry["row"] for entry in entries if not entry["trashed"]]


def truth(school: Asked, *, id_numbers: bool = False) -> dict[str, list[Row]]:
    """The rows of each table, typed, with `_extra`. `id_numbers`: as a setting keeps them."""
    custom = {row["name"]: pa.string() for row in school.rows("user_fields")}
    result = {}
    for resource, sent in _sent(school).items():
        columns = {column.name: column.type for column in TABLES[resource].columns}
        columns |= custom if resource == "v1_users" else {}
        result[resource] = [_typed(row, columns, id_numbers=id_numbers) for row in sent]
    # Minutes are integers in text by the specification.
    for row in result["attendance_settings"]:
        row["_extra"] = {name: row["_extra"][name] for name in row["_extra"] or {} if name not in row} or None
    _number_entries(result["transcript_courses"])
    return result


def _number_entries(courses: list[Row]) -> None:
    """Courses of a semester with one source and code, told apart by their classes."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for course in sorted(courses, key=lambda row: row["class_id"], reverse=True):
        key = tuple(course[name] for name in ("student_id", "semester_id", "source_id", "csin"))
        seen[key] += 1
        course["entry"] = seen[key]


def _sent(school: Asked) -> dict[str, list[Row]]:
    """The rows as they are sent, with what only the question says."""
    sent = {name: school.rows(name) for name in OF_SCHOOL}
    semesters = [row["id"] for row in sent["v1_semesters"] if school.semester_id in (None, row["id"])]
    if not any(row.get("students") for row in sent["v1_admin_classes"]):
        sent["v1_admin_classes"] = [school.get(f"admin-classes/{r['id']}") for r in sent["v1_admin_classes"]]
    sent["attendance_settings"] = [{"school_id": school.school_id, **r} for r in sent["attendance_settings"]]
    sent["app_updates"] = [school.get("classroompad/check-updates?client_id=tests")]
    sent["v1_classes"] = [row for row in school.rows("v1_classes") if int(row["semester_id"]) in semesters]
    sent["v1_class_students"] = [
        {"class_id": entry["id"], "student_id": student.get("rid") or student["id"], **student}
        for entry in sent["v1_classes"]
        for student in map(_standing, school.get(f"classes/{entry['id']}/students"))
    ]
    for name in ("days", "lessons"):
        sent[f"timetable_{name}"] = [
            {"semester_id": semester, **row}
            for semester in semesters
            for row in school.get(f"timetable/structure?semester_id={semester}")[name]
        ]
    sent["devices"] = list(_bound(school, "classroompad/devices", "device_id", school.devices))
    cards = _bound(school, "studentcard/cards", "card_id", school.cards)
    sent["cards"] = [{**card, "student_id": card.get("rid")} for card in map(_standing, cards)]
    students = [row["id"] for row in sent["v1_users"] if row["role"] == STUDENT]
    return sent | _transcripts({entry: school.get(f"students/{entry}/transcripts") for entry in students})


def _standing(student: Row) -> Row:
    """A student who stands inside another object with what is in it, and with that object as it came."""
    return {**student.get("reflection", {}), **student}


def _bound(school: Asked, path: str, name: str, ids: Sequence[str]) -> Iterator[Row]:
    for id_ in ids:
        answer = school.get(f"{path}/{quote(id_, safe='')}")
        yield {name: id_, "state": "unbound" if answer is None else "bound", **(answer or {})}


def _transcripts(answers: Mapping[int, Any]) -> dict[str, list[Row]]:
    levels: dict[str, list[Row]] = {"transcripts": [], "transcript_semesters": [], "transcript_courses": []}
    for student, answer in answers.items():
        groups = answer.pop("grade_list")
        levels["transcripts"].append({"student_id": student, **answer})
        for group in groups:
            keys = {"student_id": student, "semester_id": group.pop("semester")["id"]}
            levels["transcript_courses"] += [{**keys, **course} for course in group.pop("grade_list")]
            levels["transcript_semesters"].append({**keys, **group})
    return levels


def _typed(sent: Row, columns: Mapping[str, Any], *, id_numbers: bool) -> Row:
    extra = {name: value for name, value in sent.items() if name not in columns}
    row = {}
    for name, kind in columns.items():
        row[name], verbatim = _value(sent.get(name), kind)
        if verbatim:
            extra[name] = sent[name]
    if not id_numbers and "idcard" in row:
        row["idcard"] = None
    return row | {"_extra": _without_withheld(extra) or None}


def _without_withheld(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_withheld(part) for name, part in value.items() if name not in WITHHELD}
    return [_without_withheld(part) for part in value] if isinstance(value, list) else value


def _value(sent: Any, kind: Any) -> tuple[Any, bool]:
    """What a column holds of a value, and whether `_extra` has the value verbatim besides."""
    if sent is None:
        return None, False
    if pa.types.is_map(kind):
        marks = [(name, None if value == "-" else value) for name, value in sent.items()]
        return marks, any(value == "-" for value in sent.values())
    if sent in ("", []) and pa.types.is_struct(kind):
        return None, True
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        parts = {name: _value(sent.get(name), kind.field(name).type) for name in names}
        return {name: value for name, (value, _) in parts.items()}, not sent.keys() <= set(names)
    if pa.types.is_list(kind) and pa.types.is_integer(kind.value_type):
        ids = [int(item["id"] if isinstance(item, dict) else item) for item in sent]
        return ids, ids != sent
    if pa.types.is_list(kind):
        items = [_value(item, kind.value_type) for item in sent]
        return [value for value, _ in items], any(verbatim for _, verbatim in items)
    if sent == "" and (pa.types.is_date(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return None, True
    make = next((make for is_kind, make in MAKERS if is_kind(kind)), None)
    return (make(str(sent)) if make else sent), isinstance(sent, str) and pa.types.is_integer(kind)
