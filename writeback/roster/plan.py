"""The plan of a roster: what would be created, changed and deleted, and why which rows are refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from campus.contracts.v1_people import UserField
from writeback.roster.fields import (
    GUARDIAN,
    SECRET,
    STUDENT,
    STUDENT_OUTER_ID,
    TEACHER,
    Refused,
    in_chinese,
    missing,
    same,
)
from writeback.roster.rows import RefusedRow, RosterRow, turned_away

if TYPE_CHECKING:
    # Whoever reads a plan asks nobody for people.
    from writeback.roster.people import Person

VERSION = 1
Action = Literal["create", "change", "delete"]
#: What a deletion is checked against before it is carried out.
TOLD_OF_DELETED = ("usin", "name", "role", "status")
LINES_SHOWN = 10
#: So many refusals never stop a plan, whatever their share.
FEW = 10


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One row to be written. `line`: of the roster; 0: it is not in it. `before`: what the platform has in
    the fields concerned, which must still be so. `after`: what it will have. `secret`: fields whose values
    are read from the roster again. `student`: the outer_id of a guardian's student who is created too.
    `links_usin`: the usin of a user who has no outer_id yet. For the person who decides: `name`, and `ward`,
    the number and name of a guardian's student."""

    action: Action
    line: int
    outer_id: str
    role: int
    id: int | None = None
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    secret: tuple[str, ...] = ()
    student: str = ""
    links_usin: str = ""
    name: str = ""
    ward: str = ""


class Gone(msgspec.Struct, frozen=True):
    """A user of the platform with an outer_id that the roster does not have."""

    id: int
    outer_id: str
    usin: str | None
    name: str | None
    role: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a roster means for one school of the platform at `base_url`. `source`: the file, or the table of
    the warehouse; `sha256`: of the file, empty for a table. `people`: users of the platform; `managed`: by
    role, those of them whom the roster is about. `notes`: for the person who reads it, `chinese_notes`
    the same in Chinese. `labels`: of the school's own fields, by name."""

    version: int = VERSION
    base_url: str = ""
    school_id: int
    made_at: str
    source: str
    sha256: str
    rows: int
    people: int
    unchanged: int
    steps: tuple[Step, ...]
    gone: tuple[Gone, ...]
    refused: tuple[RefusedRow, ...]
    notes: tuple[str, ...] = ()
    chinese_notes: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    managed: dict[int, int] = {}

    def refuses_more_than(self, share: float) -> bool:
        """Whether more than this share of the roster's rows are refused, and more than a few."""
        return len(self.refused) > max(FEW, share * self.rows)

    def of(self, action: Action) -> list[Step]:
        """The steps of one kind."""
        return [step for step in self.steps if step.action == action]


@dataclass(frozen=True)
class Wishes:
    """What a person asked for. `delete`: those who are gone; `max_deleted`: at most this share of those whom
    the roster manages, unless they are a handful. `link_by_usin`: users without an outer_id get that of the
    row with their usin."""

    delete: bool = False
    link_by_usin: bool = False
    max_deleted: float = 0.2
    handful: int = 5


@dataclass
class _Known:
    """The platform's users, to be found by what a row says of them."""

    people: Sequence[Person]
    by_id: dict[int, Person] = field(default_factory=dict)
    by_outer_id: dict[str, list[Person]] = field(default_factory=lambda: defaultdict(list))
    by_usin: dict[str, list[Person]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for person in self.people:
            self.by_id[person["id"]] = person
            if person["outer_id"]:
                self.by_outer_id[person["outer_id"]].append(person)
            if person["usin"]:
                self.by_usin[person["usin"]].append(person)


def make_plan(
    rows: Sequence[RosterRow],
    refused: Sequence[RefusedRow],
    people: Sequence[Person],
    fields: Mapping[tuple[str, int], UserField],
    wishes: Wishes,
    **about: Any,
) -> Plan:
    """Compare a roster with the platform. refused: rows that could not be read. about: the plan's own
    fields."""
    known, bad = _Known(people), list(refused)
    students = {row.outer_id: row for row in rows if row.values["role"] == STUDENT}
    steps: list[Step] = []
    unchanged = 0
    for row in rows:
        try:
            step = _step(row, known, fields, students, wishes)
        except Refused as reason:
            bad.append(turned_away(row, reason))
        else:
            steps += step
            unchanged += not step
    managed = _managed(people, {row.values["role"] for row in rows})
    gone = _missing(managed, rows, refused)
    deleted, notes = _deletions(gone, len(managed), bad, wishes, known)
    notes += _unsent_secrets(rows, steps, bad)
    return Plan(
        rows=len(rows) + len(refused),
        people=len(people),
        unchanged=unchanged,
        steps=(*steps, *deleted),
        gone=tuple(_gone(one) for one in gone),
        refused=tuple(sorted(bad, key=lambda row: row.line)),
        managed=dict(Counter(one["role"] for one in managed)),
        notes=tuple(words for words, _ in notes),
        chinese_notes=tuple(chinese for _, chinese in notes),
        labels={name: field.label for (name, _), field in fields.items() if field.label},
        **about,
    )


def _managed(people: Sequence[Person], roles: Collection[int]) -> list[Person]:
    """The users whom such a roster is about."""
    return [one for one in people if one["outer_id"] and one["role"] in roles and one["status"] != ARCHIVED]


def _missing(
    managed: Sequence[Person], rows: Sequence[RosterRow], refused: Sequence[RefusedRow]
) -> list[Person]:
    """Those whom no row names, refused ones included: neither by outer_id nor, where that is another now, by
    usin."""
    outer_ids = {row.outer_id for row in rows} | {row.key for row in refused}
    usins = {row.values.get("usin") for row in rows} | {row.usin for row in refused}
    usins -= {None, ""}
    return [one for one in managed if one["outer_id"] not in outer_ids and one["usin"] not in usins]


def _unsent_secrets(
    rows: Sequence[RosterRow], steps: Sequence[Step], bad: Sequence[RefusedRow]
) -> list[tuple[str, str]]:
    """Says so where the roster has passwords or id numbers of users who are there already."""
    sent = {step.line for step in steps if step.action == "create"} | {row.line for row in bad}
    left = [row for row in rows if row.line not in sent and any(row.values.get(name) for name in SECRET)]
    if not left:
        return []
    words = (
        f"{' and '.join(SECRET)} of {len(left)} users stay as they are: nobody can read them to compare, and "
        f"they are sent only for a user who is made."
    )
    secret = "和".join(map(in_chinese, SECRET))
    return [(words, f"{len(left)} 个用户的{secret}保持不变：无法读取以作比较，仅在新建用户时发送。")]


#: What of the standard fields only they have.
OF_GUARDIANS = ("student_id", STUDENT_OUTER_ID)
#: Who is archived has left already.
ARCHIVED = 2
NEEDED: Mapping[int, tuple[str, ...]] = {
    STUDENT: ("usin", "name", "graduates_in"),
    TEACHER: ("usin", "name"),
    GUARDIAN: ("usin", "name"),
}


def _step(
    row: RosterRow,
    known: _Known,
    fields: Mapping[tuple[str, int], UserField],
    students: Mapping[str, RosterRow],
    wishes: Wishes,
) -> list[Step]:
    """The step of one row; none: the platform has it so. students: the roster's. Raises Refused."""
    role = row.values["role"]
    _check_role(row, fields)
    values = {name: value for name, value in row.values.items() if name not in (*SECRET, STUDENT_OUTER_ID)}
    student = _student(row, known, students, wishes)
    if isinstance(student, int):
        values["student_id"] = student
    person = _person(row, known, wishes)
    name = str(values.get("name") or (person or {}).get("name") or "")
    ward = _ward(row, values.get("student_id"), known, students)
    if person is None:
        if lacking := missing(values, NEEDED[role]):
            raise Refused(
                f"{lacking} is missing, and there is nobody yet with this outer_id",
                f"缺少{_in_chinese(lacking)}，且平台上还没有此外部编号的用户",
            )
        _check_usin(row, known, None)
        secret = tuple(name for name in SECRET if row.values.get(name))
        after = {name: value for name, value in values.items() if value is not None}
        return [
            Step(
                action="create",
                line=row.line,
                outer_id=row.outer_id,
                role=role,
                after=after,
                secret=secret,
                student=student if isinstance(student, str) else "",
                name=name,
                ward=ward,
            )
        ]
    news = {name: value for name, value in values.items() if not same(person.get(name), value)}
    if isinstance(student, str):
        raise Refused(
            f"the student {student} is not on the platform yet: run the roster again after this one",
            f"学生 {student} 还不在平台上：请在本计划执行后再次计划此名册",
        )
    if not news:
        return []
    if lacking := missing({**person, **news}, NEEDED[role]):
        raise Refused(f"{lacking} would be empty", f"{_in_chinese(lacking)}将变为空")
    _check_usin(row, known, person)
    before = {name: _told(person.get(name)) for name in news}
    return [
        Step(
            action="change",
            line=row.line,
            outer_id=row.outer_id,
            role=role,
            id=person["id"],
            before=before,
            after=news,
            links_usin="" if person["outer_id"] else person["usin"] or "",
            name=name,
            ward=ward,
        )
    ]


def _person(row: RosterRow, known: _Known, wishes: Wishes) -> Person | None:
    """The user of a row; None: there is none yet. Raises Refused where nobody can tell, or he has another
    role."""
    person = _named(row, known, wishes)
    if person is not None and person["role"] != row.values["role"]:
        raise Refused(
            f"user {person['id']} has the role {person['role']}: a role is not changed",
            f"用户 {person['id']} 是另一种角色（{person['role']}），角色不能变更",
        )
    return person


def _named(row: RosterRow, known: _Known, wishes: Wishes) -> Person | None:
    found = known.by_outer_id.get(row.outer_id, [])
    if len(found) > 1:
        ids = ", ".join(str(one["id"]) for one in found)
        raise Refused(
            f"{len(found)} users of the platform have this outer_id: {ids}. Mend that there first",
            f"平台上有 {len(found)} 个用户使用此外部编号：{ids}，请先在平台上更正",
        )
    if found:
        return found[0]
    others = known.by_usin.get(row.values.get("usin") or "", [])
    if not others:
        return None
    [other, *more] = others
    if more:
        ids = ", ".join(str(one["id"]) for one in others)
        raise Refused(
            f"{len(others)} users of the platform have its usin: {ids}. Mend that there first",
            f"平台上有 {len(others)} 个用户使用此学工号：{ids}，请先在平台上更正",
        )
    if other["outer_id"]:
        raise Refused(
            f"its usin is that of user {other['id']}, who has the outer_id {other['outer_id']!r}",
            f"此学工号属于用户 {other['id']}，其外部编号为“{other['outer_id']}”",
        )
    if not wishes.link_by_usin:
        raise Refused(
            f"its usin is that of user {other['id']}, who has no outer_id; --link-by-usin sets it to this "
            f"one",
            f"此学工号属于用户 {other['id']}，其没有外部编号；--link-by-usin 可将其设为此编号",
        )
    return other


def _check_usin(row: RosterRow, known: _Known, person: Person | None) -> None:
    for other in known.by_usin.get(row.values.get("usin") or "", []):
        if person is None or other["id"] != person["id"]:
            raise Refused(f"its usin is that of user {other['id']}", f"此学工号已属于用户 {other['id']}")


def _check_role(row: RosterRow, fields: Mapping[tuple[str, int], UserField]) -> None:
    """Whether the row has only what those of its role have. Raises Refused."""
    for name in OF_GUARDIANS if row.values["role"] != GUARDIAN else ():
        if row.values.get(name):
            raise _no_field(name)
    for name, value in row.custom.items():
        one = fields.get((name, row.values["role"]))
        if one is None and value:
            raise _no_field(name)
        if one is not None and one.options and value and value not in one.options:
            raise Refused(
                f"{name} is {value!r}; there are {', '.join(one.options)}",
                f"{one.label or name}为“{value}”，可填：{'、'.join(one.options)}",
            )


def _no_field(name: str) -> Refused:
    return Refused(f"{name} is no field of this role", f"此角色没有字段“{in_chinese(name)}”")


def _in_chinese(lacking: str) -> str:
    return "、".join(map(in_chinese, lacking.split(", ")))


def _ward(row: RosterRow, student_id: int | None, known: _Known, students: Mapping[str, RosterRow]) -> str:
    """The number and name of a guardian's student; of one whom nobody knows his id alone."""
    wanted = str(row.values.get(STUDENT_OUTER_ID) or "")
    person = known.by_id.get(student_id) if student_id is not None else None
    if person is None and wanted in students:
        person = students[wanted].values
    if person is None:
        return "" if student_id is None else str(student_id)
    return f"{person['usin'] or ''} {person['name'] or ''}".strip()


def _student(
    row: RosterRow, known: _Known, students: Mapping[str, RosterRow], wishes: Wishes
) -> int | str | None:
    """A guardian's student: his id, or his outer_id where the roster creates him too. Raises Refused."""
    wanted = row.values.get(STUDENT_OUTER_ID)
    if not wanted:
        return None
    found = [one for one in known.by_outer_id.get(wanted, []) if one["role"] == STUDENT]
    if len(found) > 1:
        raise Refused(
            f"{len(found)} students of the platform have the outer_id {wanted!r}",
            f"平台上有 {len(found)} 个学生的外部编号为“{wanted}”",
        )
    if found:
        return int(found[0]["id"])
    if wanted not in students:
        raise Refused(f"there is no student with the outer_id {wanted!r}", f"没有外部编号为“{wanted}”的学生")
    try:
        # He may be there without an outer_id, which he gets by this plan.
        person = _person(students[wanted], known, wishes)
    except Refused as reason:
        raise Refused(
            f"its student {wanted} is refused: {reason}", f"其学生 {wanted} 被拒绝：{reason.chinese}"
        ) from None
    return str(wanted) if person is None else int(person["id"])


def _deletions(
    gone: Sequence[Person], managed: int, bad: Sequence[RefusedRow], wishes: Wishes, known: _Known
) -> tuple[list[Step], list[tuple[str, str]]]:
    if not gone:
        return [], []
    if not wishes.delete:
        words = f"{len(gone)} who are not in the roster stay as they are; --delete would delete them."
        return [], [(words, f"名册中没有的 {len(gone)} 人保持不变；--delete 会删除他们。")]
    nameless = [row for row in bad if _may_be_anybody(row, known)]
    if nameless:
        lines = ", ".join(str(row.line) for row in nameless[:LINES_SHOWN])
        words = (
            f"Nobody is deleted: {len(nameless)} refused rows whose outer_id or usin is missing, and whose "
            f"other one the platform does not know, may be of who seems gone. Mend them first: line {lines}."
        )
        chinese = (
            f"不删除任何人：{len(nameless)} 个被拒绝的行缺少外部编号或学工号，平台也不认识其另一编号，"
            f"可能正是名册中没有的人。请先更正第 {lines} 行。"
        )
        return [], [(words, chinese)]
    if len(gone) > max(wishes.handful, wishes.max_deleted * managed):
        words = (
            f"Nobody is deleted: {len(gone)} of {managed} are not in the roster, more than the share of "
            f"{wishes.max_deleted:.0%} that passes (writes.roster.max_deleted_share). Is it the whole roster?"
        )
        chinese = (
            f"不删除任何人：{managed} 人中有 {len(gone)} 人不在名册中，超过允许的比例 "
            f"{wishes.max_deleted:.0%}（writes.roster.max_deleted_share）。名册是否完整？"
        )
        return [], [(words, chinese)]
    steps = [
        Step(
            action="delete",
            line=0,
            outer_id=one["outer_id"],
            role=one["role"],
            id=one["id"],
            before={name: _told(one[name]) for name in TOLD_OF_DELETED},
        )
        for one in gone
        if len(known.by_outer_id[one["outer_id"]]) == 1
    ]
    return steps, []


def _may_be_anybody(row: RefusedRow, known: _Known) -> bool:
    """Whether nobody can tell whom of the platform's users a refused row is about, if any. Who has an
    outer_id and a number of which the platform has neither is new."""
    told = row.key in known.by_outer_id or row.usin in known.by_usin
    return not told and not (row.key and row.usin)


def _gone(one: Person) -> Gone:
    return Gone(one["id"], one["outer_id"], one["usin"], one["name"], one["role"])


def _told(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
