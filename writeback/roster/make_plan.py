"""Makes the plan of a roster from its rows and the platform's users. No I/O."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

from campus.contracts.v1_people import UserField
from writeback.roster.compare import NOT_COMPARED, Problem, compare
from writeback.roster.fields import GUARDIAN, SECRET, STUDENT, STUDENT_OUTER_ID, Refused, in_chinese, missing
from writeback.roster.people import Person
from writeback.roster.plan import ARCHIVED, CHECKED_BEFORE_DELETION, NEEDED, Gone, Plan, PlanOptions, Step
from writeback.roster.rows import RefusedRow, RosterRow, turned_away

#: Values by field, or by column of `compare`.
Values = Mapping[str, Any]
LINES_SHOWN = 10
#: Standard fields that only guardians have.
OF_GUARDIANS = ("student_id", STUDENT_OUTER_ID)
#: Why a row is refused for its match, in English and in Chinese.
REASONS: Mapping[Problem, tuple[str, str]] = {
    "same_outer_id": (
        "{count} users of the platform have this outer_id: {ids}. Mend that there first",
        "平台上有 {count} 个用户使用此外部编号：{ids}，请先在平台上更正",
    ),
    "same_usin": (
        "{count} users of the platform have its usin: {ids}. Mend that there first",
        "平台上有 {count} 个用户使用此学工号：{ids}，请先在平台上更正",
    ),
    "usin_of_another": (
        "its usin is that of user {id}, who has the outer_id {outer_id!r}",
        "此学工号属于用户 {id}，其外部编号为“{outer_id}”",
    ),
    "usin_unlinked": (
        "its usin is that of user {id}, who has no outer_id; --link-by-usin sets it to this one",
        "此学工号属于用户 {id}，其没有外部编号；--link-by-usin 可将其设为此编号",
    ),
    "other_role": (
        "user {id} has the role {role}: a role is not changed",
        "用户 {id} 是另一种角色（{role}），角色不能变更",
    ),
}


def make_plan(
    rows: Sequence[RosterRow],
    refused: Sequence[RefusedRow],
    people: Sequence[Person],
    fields: Mapping[tuple[str, int], UserField],
    options: PlanOptions,
    **about: Any,
) -> Plan:
    """Compare a roster with the platform.

    Args:
        refused: rows that could not be read.
        about: the plan's own fields."""
    planner = _Planner(rows, people, fields, options)
    steps: list[Step] = []
    bad, unchanged = list(refused), 0
    for row in rows:
        try:
            step = planner.step(row)
        except Refused as reason:
            bad.append(turned_away(row, reason))
        else:
            steps += [step] if step else []
            unchanged += step is None
    managed = managed_users(people, {row.values["role"] for row in rows})
    gone = _missing(managed, rows, refused)
    deleted, notes = _deletions(gone, len(managed), bad, options, people)
    notes += _unsent_secrets(rows, steps, bad)
    return Plan(
        rows=len(rows) + len(refused),
        people=len(people),
        unchanged=unchanged,
        steps=(*steps, *deleted),
        gone=tuple(_gone(person) for person in gone),
        refused=tuple(sorted(bad, key=lambda row: row.line)),
        managed=dict(Counter(person["role"] for person in managed)),
        notes=tuple(words for words, _ in notes),
        chinese_notes=tuple(chinese for _, chinese in notes),
        labels={name: field.label for (name, _), field in fields.items() if field.label},
        **about,
    )


def managed_users(people: Sequence[Person], roles: Collection[int]) -> list[Person]:
    """The users whom a roster of these roles manages. Archived users have left already."""
    return [
        person
        for person in people
        if person["outer_id"] and person["role"] in roles and person["status"] != ARCHIVED
    ]


def _missing(
    managed: Sequence[Person], rows: Sequence[RosterRow], refused: Sequence[RefusedRow]
) -> list[Person]:
    """The users whom no row names by outer_id, or, with another outer_id, by usin. Refused rows count."""
    outer_ids = {row.outer_id for row in rows} | {row.key for row in refused}
    usins = ({row.values.get("usin") for row in rows} | {row.usin for row in refused}) - {None, ""}
    return [
        person for person in managed if person["outer_id"] not in outer_ids and person["usin"] not in usins
    ]


class _Planner:
    """Makes the step of each row from the differences between row and user."""

    def __init__(
        self,
        rows: Sequence[RosterRow],
        people: Sequence[Person],
        fields: Mapping[tuple[str, int], UserField],
        options: PlanOptions,
    ) -> None:
        differing = compare(rows, people, link_by_usin=options.link_by_usin)
        self._differences = {
            difference["row_line"]: difference for difference in differing.iter_rows(named=True)
        }
        self._people = {person["id"]: person for person in people}
        self._students = {row.outer_id: row for row in rows if row.values["role"] == STUDENT}
        self._fields = fields

    def step(self, row: RosterRow) -> Step | None:
        """The step of a row; None: the platform has the row's values. Raises Refused."""
        _check_role(row, self._fields)
        difference = self._differences.get(row.line)
        if difference is None:
            return None
        new_student = self._new_student(row, difference)
        if difference["match_problem"]:
            raise _refusal(difference)
        values = {name: value for name, value in row.values.items() if name not in NOT_COMPARED}
        if difference["student_user"] is not None:
            values["student_id"] = difference["student_user"]
        person = self._people.get(difference["user_id"], {})
        about: dict[str, Any] = {
            "line": row.line,
            "outer_id": row.outer_id,
            "role": row.values["role"],
            "name": str(values.get("name") or person.get("name") or ""),
            "ward": self._ward(row, values.get("student_id")),
        }
        if not person:
            return _creation(row, difference, values, new_student, about)
        if new_student:
            raise Refused(
                "its student is not on the platform yet: run the roster again after this one",
                "其学生还不在平台上：请在本计划执行后，用此名册重新生成计划",
            )
        return _change(difference, person, values, about)

    def _new_student(self, row: RosterRow, difference: Values) -> str:
        """The outer_id of a guardian's student whom the plan creates; empty: none. Raises Refused."""
        student = str(row.values.get(STUDENT_OUTER_ID) or "")
        if not student or difference["student_user"] is not None:
            return ""
        if difference["student_users"]:
            count = len(difference["student_users"])
            raise Refused(
                f"{count} students of the platform have its {STUDENT_OUTER_ID}",
                f"平台上有 {count} 个学生的外部编号与其学生外部编号相同",
            )
        if difference["student_line"] is None:
            raise Refused(f"there is no student with its {STUDENT_OUTER_ID}", "没有该学生外部编号的学生")
        of_student = self._differences[difference["student_line"]]
        if of_student["match_problem"]:
            reason = _refusal(of_student)
            raise Refused(f"its student is refused: {reason}", f"其学生被拒绝：{reason.chinese}")
        return student

    def _ward(self, row: RosterRow, student_id: int | None) -> str:
        """The usin and name of a guardian's student; the id alone of an unknown student."""
        person = None if student_id is None else self._people.get(student_id)
        student = self._students.get(str(row.values.get(STUDENT_OUTER_ID) or ""))
        if person is None and student is not None:
            person = student.values
        if person is None:
            return "" if student_id is None else str(student_id)
        return f"{person.get('usin') or ''} {person.get('name') or ''}".strip()


def _creation(row: RosterRow, difference: Values, values: Values, new_student: str, about: Values) -> Step:
    if lacking := missing(values, NEEDED[row.values["role"]]):
        raise Refused(
            f"{lacking} is missing, and there is nobody yet with this outer_id",
            f"缺少{_in_chinese(lacking)}，且平台上还没有此外部编号的用户",
        )
    _check_usin(difference)
    return Step(
        action="create",
        after={name: value for name, value in values.items() if value is not None},
        secret=tuple(name for name in SECRET if row.values.get(name)),
        student=new_student,
        **about,
    )


def _change(difference: Values, person: Person, values: Values, about: Values) -> Step | None:
    after = {name: value for name, value in values.items() if name in difference["changed_fields"]}
    if not after:
        return None
    if lacking := missing({**person, **after}, NEEDED[about["role"]]):
        raise Refused(f"{lacking} would be empty", f"{_in_chinese(lacking)}将变为空")
    _check_usin(difference)
    return Step(
        action="change",
        id=difference["user_id"],
        before={name: _plain(person.get(name)) for name in after},
        after=after,
        links_usin="" if person["outer_id"] else person["usin"] or "",
        **about,
    )


def _refusal(difference: Values) -> Refused:
    """The message about the problem of a row."""
    ids = difference["outer_id_users"] or difference["usin_users"]
    about = {
        "count": len(ids),
        "ids": ", ".join(map(str, ids)),
        "id": ids[0],
        "outer_id": difference["usin_outer_id"],
        "role": difference["user_role"],
    }
    words, chinese = REASONS[difference["match_problem"]]
    return Refused(words.format(**about), chinese.format(**about))


def _check_usin(difference: Values) -> None:
    """Raises Refused where another user has the usin of the row."""
    for other in difference["usin_users"] or ():
        if other != difference["user_id"]:
            raise Refused(f"its usin is that of user {other}", f"此学工号已属于用户 {other}")


def _check_role(row: RosterRow, fields: Mapping[tuple[str, int], UserField]) -> None:
    """Raises Refused where a row has fields, or options, that its role does not have."""
    for name in OF_GUARDIANS if row.values["role"] != GUARDIAN else ():
        if row.values.get(name):
            raise _no_field(name)
    for name, value in row.custom.items():
        field = fields.get((name, row.values["role"]))
        if field is None and value:
            raise _no_field(name)
        if field is not None and field.options and value and value not in field.options:
            raise Refused(
                f"{name}: expected one of {', '.join(field.options)}",
                f"{field.label or name}可填：{'、'.join(field.options)}",
            )


def _no_field(name: str) -> Refused:
    return Refused(f"{name} is no field of this role", f"此角色没有字段“{in_chinese(name)}”")


def _deletions(
    gone: Sequence[Person],
    managed: int,
    bad: Sequence[RefusedRow],
    options: PlanOptions,
    people: Sequence[Person],
) -> tuple[list[Step], list[tuple[str, str]]]:
    """The deletions, and the notes that say why there are none, in English and in Chinese."""
    if not gone:
        return [], []
    if not options.delete:
        words = f"{len(gone)} who are not in the roster stay as they are; --delete would delete them."
        return [], [(words, f"名册中没有的 {len(gone)} 人保持不变；--delete 会删除他们。")]
    holders = Counter(person["outer_id"] for person in people if person["outer_id"])
    usins = {person["usin"] for person in people if person["usin"]}
    # Such a row may be about any user. A row with an outer_id and a usin that are both unknown is a new user.
    nameless = [
        row for row in bad if row.key not in holders and row.usin not in usins and not (row.key and row.usin)
    ]
    if nameless:
        lines = ", ".join(str(row.line) for row in nameless[:LINES_SHOWN])
        words = (
            f"Nobody is deleted: {len(nameless)} refused rows lack the outer_id or the usin, and their other "
            f"id is new. They may be about users missing from the roster. Correct them first: line {lines}."
        )
        chinese = (
            f"不删除任何人：{len(nameless)} 个被拒绝的行缺少外部编号或学工号，平台上也没有其另一编号，"
            f"这些行可能就是名册中没有的人。请先更正第 {lines} 行。"
        )
        return [], [(words, chinese)]
    if len(gone) > max(options.handful, options.max_deleted * managed):
        words = (
            f"Nobody is deleted: {len(gone)} of {managed} are not in the roster, more than the share of "
            f"{options.max_deleted:.0%} that passes (writes.roster.max_deleted_share). Is it the whole "
            f"roster?"
        )
        chinese = (
            f"不删除任何人：{managed} 人中有 {len(gone)} 人不在名册中，超过允许的比例 "
            f"{options.max_deleted:.0%}（writes.roster.max_deleted_share）。请确认名册是否完整。"
        )
        return [], [(words, chinese)]
    steps = [
        Step(
            action="delete",
            line=0,
            outer_id=person["outer_id"],
            role=person["role"],
            id=person["id"],
            before={name: _plain(person[name]) for name in CHECKED_BEFORE_DELETION},
        )
        for person in gone
        if holders[person["outer_id"]] == 1
    ]
    return steps, []


def _gone(person: Person) -> Gone:
    return Gone(person["id"], person["outer_id"], person["usin"], person["name"], person["role"])


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _in_chinese(fields: str) -> str:
    return "、".join(map(in_chinese, fields.split(", ")))


def _unsent_secrets(
    rows: Sequence[RosterRow], steps: Sequence[Step], bad: Sequence[RefusedRow]
) -> list[tuple[str, str]]:
    """Note that the roster has passwords or id numbers of existing users, which are never sent."""
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
