"""Finds all ids, numbers, names and addresses that the lake has for one person."""

from __future__ import annotations

import html
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.forgetting.columns import FREE_TEXT, NUMBER, SUBJECTS, V1, V3
from warehouse.forgetting.forgotten import (
    NAME_MARK,
    SHORTEST_TOKEN,
    TOKEN,
    TOKENS,
    folded_token,
    holds_name,
    matcher_of,
)
from warehouse.forgetting.forgotten import NUMBER as NUMBER_MARK
from warehouse.lake.delta import Lake
from warehouse.lake.tables import SCHOOL_ID, Slice, Table

STUDENT, TEACHER, GUARDIAN = "student", "teacher", "guardian"
#: Roles of v1's users.
ROLES = {1: STUDENT, 2: TEACHER, 8: GUARDIAN}
#: Columns that tell persons apart, of the tables of people.
_ADDRESSES = ("phone", "email", "outer_id", "card_id", "pupil_id", "avatar_url")
_NAMES = ("name", "pinyin")
_OF_V3 = ("students", "teachers", "reflections")
_OF_V1 = ("v1_users", "v1_class_students", "cards")
#: Tables whose rows are about students alone.
_OF_STUDENTS = (
    "students",
    "scores",
    "grades",
    "attendance_records",
    "v1_class_students",
    "cards",
    "transcripts",
    "transcript_semesters",
    "transcript_courses",
)
_NESTED = {
    V3: (
        ("admin_classes", "students"),
        ("admin_classes", "teachers"),
        ("classes", "students"),
        ("classes", "teachers"),
    ),
    V1: (
        ("v1_admin_classes", "students"),
        ("v1_admin_classes", "teachers"),
        ("v1_admin_classes", "director"),
        ("v1_classes", "teachers"),
    ),
}
#: Letters of a name at least, by which it is recognised inside a text.
SHORTEST_NAME = 2


class Person(msgspec.Struct, frozen=True):
    """A person of a school, in plain words.

    Attributes:
        v3, v1: ids in either interface.
        numbers: of the student or teacher, as the column usin has them.
        tokens: addresses and numbers that are recognised wherever they stand in the school's rows.
        names: names that are recognised so.
        elsewhere: those of tokens and names that other schools of the lake have for somebody or something
        else. shared: how many names and addresses others of the school have too. They are removed only where
        a row says that it is about this person.
        uncertain: pairs of a generation and an id, that may be this person's too. Nothing is done about them.
    """

    school_id: int
    kind: str
    v3: frozenset[int] = frozenset()
    v1: frozenset[int] = frozenset()
    numbers: frozenset[str] = frozenset()
    tokens: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    shared: int = 0
    uncertain: frozenset[tuple[str, int]] = frozenset()

    @property
    def ids(self) -> frozenset[int]:
        """The ids of either interface."""
        return self.v3 | self.v1

    @property
    def marks(self) -> list[tuple[str, str]]:
        """What the list of the forgotten hashes: pairs of a kind and a value, the ids first."""
        return [
            *((V3, str(one)) for one in sorted(self.v3)),
            *((V1, str(one)) for one in sorted(self.v1)),
            *((NUMBER_MARK, one) for one in sorted(self.numbers)),
            *((TOKEN, folded_token(one)) for one in sorted(self.tokens)),
            *((NAME_MARK, one) for one in sorted(self.names)),
        ]

    def joined(self, other: Person) -> Person:
        """The same person as seen at two times."""
        return Person(
            self.school_id,
            self.kind,
            self.v3 | other.v3,
            self.v1 | other.v1,
            self.numbers | other.numbers,
            self.tokens | other.tokens,
            self.names | other.names,
            self.elsewhere | other.elsewhere,
            max(self.shared, other.shared),
            self.uncertain | other.uncertain,
        )

    def is_same(self, other: Person) -> bool:
        """Whether both are of one kind, and share an id of one interface."""
        return self.kind == other.kind and bool(self.v3 & other.v3 or self.v1 & other.v1)


@dataclass
class Known:
    """What the tables say of somebody, by one id of one interface."""

    generation: str
    id: int
    #: student, teacher or guardian; empty: no table says it.
    kind: str = ""
    numbers: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    #: Of a guardian: the student's id.
    ward: int | None = None

    def is_another(self, other: Known) -> bool:
        """Whether kinds or numbers say that both are two persons."""
        kinds_differ = bool(self.kind and other.kind and self.kind != other.kind)
        return kinds_differ or bool(self.numbers and other.numbers and not self.numbers & other.numbers)


@dataclass(frozen=True)
class Identity:
    """The ids of a person, each with its interface."""

    kind: str
    keys: frozenset[tuple[str, int]]
    #: Those that may be the person's too.
    uncertain: frozenset[tuple[str, int]] = frozenset()


class People:
    """All persons that the lake knows of a school, tombstones too. tables: those of the platform's rows, by
    name."""

    def __init__(self, lake: Lake, school_id: int, tables: Mapping[str, Table]) -> None:
        self._lake, self.school_id, self._tables = lake, school_id, tables
        self._listed = matcher_of(lake, school_id)
        self.known: dict[tuple[str, int], Known] = {}
        for generation, names in ((V3, _OF_V3), (V1, _OF_V1)):
            for name in names:
                for row in self._rows(name):
                    self._note(generation, name, row)
            for name, column in _NESTED[generation]:
                for row in self._rows(name, [column]):
                    for person in row[column] if isinstance(row[column], list) else [row[column]]:
                        self._note(generation, f"{name}.{column}", person or {})

    def find(self, kind: str, id: int, *, of_v1: bool = False) -> list[Person]:
        """The person of a kind who has an id, then the guardians of a student. Empty: nothing in the lake is
        about the id.

        The id is that of v3, or of v1 where v3 has nobody of the kind under it. of_v1: it is that of v1."""
        own = self._identity(kind, id, of_v1=of_v1)
        if own is None:
            return []
        return self._persons([own, *(self._guardians_of(own) if kind == STUDENT else ())])

    def listed(self) -> list[Person]:
        """The persons on the list of the forgotten of whom the lake still has rows."""
        if self._listed is None:
            return []
        found = {each for key in self.known if (each := self._substitute(*key)) is not None}
        return self._persons([self._of_list(each) for each in sorted(found)])

    def other_kinds(self, kind: str, id: int) -> list[str]:
        """The kinds of whoever else has an id, in either interface."""
        kinds = {self.known[key].kind for key in ((V3, id), (V1, id)) if key in self.known}
        if not kinds and self._is_named(id, _OF_STUDENTS):
            kinds = {STUDENT}
        return sorted(kinds - {kind, ""})

    def _identity(self, kind: str, id: int, *, of_v1: bool) -> Identity | None:
        """Whose id it is. Who is on the list already has the ids of the list, since the rows that paired them
        may be gone by now."""
        for generation in (V1,) if of_v1 else (V3, V1):
            key = (generation, id)
            substitute = self._substitute(*key)
            if self._listed and substitute is not None and self._listed.kinds[substitute] == kind:
                listed = self._of_list(substitute)
                return Identity(kind, listed.keys | {key})
            own = self.known.get(key)
            if own is not None and own.kind in (kind, ""):
                return self._paired(own, kind)
        is_unknown = (V1, id) not in self.known and (of_v1 or (V3, id) not in self.known)
        if is_unknown and kind == STUDENT and self._is_named(id, SUBJECTS):
            return Identity(kind, frozenset({(V1, id)} if of_v1 else {(V3, id), (V1, id)}))
        return None

    def _guardians_of(self, student: Identity) -> list[Identity]:
        """The accounts of guardians that belong to a student: they have no other one."""
        return [
            self._paired(each, GUARDIAN)
            for (generation, _), each in self.known.items()
            if generation == V1 and each.kind == GUARDIAN and (V1, each.ward) in student.keys
        ]

    def _paired(self, own: Known, kind: str) -> Identity:
        """A person with the id in the other interface: the one that has the same number, else the same id
        where no number and no kind says otherwise. An id that may be somebody else's is not taken."""
        key, other = (own.generation, own.id), V1 if own.generation == V3 else V3
        same = self.known.get((other, own.id))
        numbered = {each.id for each in self._holders(other, kind, own.numbers)}
        namesakes = {each.id for each in self._holders(own.generation, kind, own.numbers)} - {own.id}
        # Which ids may be the person's, and the one that is.
        possible, sure = numbered, None
        if own.id in numbered or (len(numbered) == 1 and not namesakes):
            sure = own.id if own.id in numbered else next(iter(numbered))
        elif same is not None and not numbered:
            is_taken = bool(self._holders(own.generation, "", same.numbers, but=own.id))
            if same.kind in (kind, "") and not own.is_another(same) and not is_taken:
                sure = own.id
            elif not is_taken and (kind != GUARDIAN or same.kind in (kind, "")):
                # Numbers change, and nobody else is in question.
                possible = {own.id}
        elif same is None and not numbered and kind != GUARDIAN and self._substitute(other, own.id) is None:
            sure = own.id
        if same is not None and same.kind in (kind, "") and not own.is_another(same):
            possible = possible | {own.id}
        keys = {key} if sure is None else {key, (other, sure)}
        return Identity(kind, frozenset(keys), frozenset((other, id) for id in possible - {sure}))

    def _holders(self, generation: str, kind: str, numbers: set[str], but: int | None = None) -> list[Known]:
        """Who has one of some numbers in an interface. kind: empty stands for any."""
        return [
            each
            for (of, id), each in self.known.items()
            if of == generation
            and id != but
            and each.numbers & numbers
            and (not kind or each.kind in (kind, ""))
        ]

    def _substitute(self, generation: str, id: int) -> int | None:
        """The id that stands for a person on the list of the forgotten; None: the id is not on it."""
        return None if self._listed is None else self._listed.find(generation, str(id))

    def _of_list(self, substitute: int) -> Identity:
        """The ids of the lake that the list has for one person."""
        assert self._listed is not None
        keys = frozenset(key for key in self.known if self._substitute(*key) == substitute)
        return Identity(self._listed.kinds[substitute], keys)

    def _persons(self, group: Sequence[Identity]) -> list[Person]:
        """The persons of one request. What they share with each other alone is theirs."""
        keys = {key for each in group for key in each.keys}
        others = [each for key, each in self.known.items() if key not in keys]
        return [self._person(each, others, keys) for each in group]

    def _person(self, own: Identity, others: Sequence[Known], taken_up: set[tuple[str, int]]) -> Person:
        seen = [self.known[key] for key in sorted(own.keys) if key in self.known]
        numbers = {one for each in seen for one in each.numbers}
        taken = {folded_token(one) for each in others for one in (*each.addresses, *each.numbers)}
        addresses = {one for each in seen for one in (*each.addresses, *each.numbers)}
        tokens = {one for one in addresses if len(one) >= SHORTEST_TOKEN and folded_token(one) not in taken}
        names = {one for each in seen for one in each.names}
        clear = self._unmistakable(names, others)
        # What no word can be cut out of a text as is looked for as a name is.
        spaced = {one for one in tokens if not TOKENS.fullmatch(one)}
        return Person(
            self.school_id,
            own.kind,
            frozenset(id for generation, id in own.keys if generation == V3),
            frozenset(id for generation, id in own.keys if generation == V1),
            frozenset(numbers),
            frozenset(tokens),
            frozenset(clear | spaced),
            self._elsewhere(tokens | clear | spaced),
            len(names - clear) + len(addresses - tokens),
            own.uncertain - taken_up,
        )

    def _unmistakable(self, names: set[str], others: Sequence[Known]) -> set[str]:
        """The names that stand for nobody and nothing else in the school."""
        found = {one for one in names if len(one) >= SHORTEST_NAME}
        if not found:
            return found
        elsewhere = {name for each in others for name in each.names} | self._words()
        return {name for name in found if not any(holds_name(text, name) for text in elsewhere)}

    def _words(self, *, of_others: bool = False) -> set[str]:
        """What classes, courses, terms and so on are called, here or in other schools."""
        words: set[str] = set()
        for table in self._tables.values():
            columns = [
                column.name
                for column in table.columns
                if pa.types.is_string(column.type) and not column.personal and column.name not in FREE_TEXT
            ]
            if columns and self._lake.holds(table):
                rows = self._scan_others(table, columns) if of_others else self._scan(table, columns)
                for column in columns:
                    words.update(text for text in pc.unique(rows[column]).to_pylist() if text)
        return words

    def _elsewhere(self, texts: set[str]) -> frozenset[str]:
        """Those of some names and numbers that other schools have too: theirs stay."""
        others: set[str] = self._words(of_others=True)
        for name in (*_OF_V3, *_OF_V1):
            table = self._tables[name]
            columns = [c.name for c in table.columns if c.name in (NUMBER, *_NAMES, *_ADDRESSES)]
            if self._lake.holds(table):
                rows = self._scan_others(table, columns)
                for column in columns:
                    others.update(
                        _clean(one) for one in pc.unique(rows[column]).to_pylist() if one not in (None, "")
                    )
        return frozenset(text for text in texts if any(holds_name(other, text) for other in others))

    def _is_named(self, id: int, names: Iterable[str]) -> bool:
        """Whether a row of some tables is about an id that no table of people has, such as that of a student
        who left long ago."""
        for name in names:
            table = self._tables[name]
            for column in SUBJECTS[name]:
                if self._lake.holds(table) and self._scan(table, [column], pc.field(column) == id).num_rows:
                    return True
        return False

    def _note(self, generation: str, table: str, row: Mapping[str, Any]) -> None:
        inside = row.get("reflection") or {}
        own = ("student_id", "rid") if table in ("v1_class_students", "cards") else ("rid",)
        ids = [*(row.get(name) for name in own if table != "v1_users"), inside.get("id"), row.get("id")]
        id = next((one for one in ids if one is not None), None)
        if id is None:
            return
        known = self.known.setdefault((generation, id), Known(generation, id))
        known.kind = known.kind or _kind(table, row)
        if table == "v1_users":
            known.ward = row.get("student_id")
        for part in (row, inside):
            known.numbers.update(_clean(part[name]) for name in (NUMBER,) if part.get(name))
            known.names.update(_clean(part[name]) for name in _NAMES if part.get(name))
            known.addresses.update(
                _clean(part[name]) for name in _ADDRESSES if part.get(name) not in (None, "")
            )

    def _rows(self, name: str, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        table = self._tables[name]
        if not self._lake.holds(table):
            return
        wanted = columns or [
            column.name
            for column in table.columns
            if column.name in ("id", "rid", "student_id", "role", NUMBER, *_NAMES, *_ADDRESSES)
        ]
        yield from self._scan(table, list(wanted)).to_pylist()

    def _scan_others(self, table: Table, columns: Sequence[str]) -> pa.Table:
        is_other = pc.field(SCHOOL_ID.name) != self.school_id
        return self._lake.scan(table, self._lake.open(table), columns, is_other)

    def _scan(self, table: Table, columns: Sequence[str], where: pc.Expression | None = None) -> pa.Table:
        return self._lake.scan(
            table, self._lake.open(table), columns, where, Slice.of(_school_id=self.school_id)
        )


def choices_of(lake: Lake, table: Table, school_id: int) -> dict[str, tuple[str, ...]]:
    """The custom fields of a school that are a choice, with their values: what a class or a diet is called
    tells nobody who it is, and totals go by it. table: that of user_fields."""
    if not lake.holds(table):
        return {}
    rows = lake.scan(table, lake.open(table), ["name", "options"], None, Slice.of(_school_id=school_id))
    return {row["name"]: tuple(row["options"]) for row in rows.to_pylist() if row["options"]}


def _kind(table: str, row: Mapping[str, Any]) -> str:
    """Of which kind a person in a table is; empty: the table does not say."""
    if table in ("students", "v1_class_students", "cards") or table.endswith(".students"):
        return STUDENT
    if table == "teachers" or table.endswith((".teachers", ".director")):
        return TEACHER
    role = row.get("role")
    if isinstance(role, int):
        return ROLES.get(role, TEACHER)
    return {"student": STUDENT, "guardian": GUARDIAN}.get(str(role), TEACHER if role else "")


def _clean(value: Any) -> str:
    return unicodedata.normalize("NFC", str(value).strip())


def variants(texts: Iterable[str]) -> set[str]:
    """Texts as they stand in files: as they are, and as JSON (once or twice), XML and HTML escape them."""
    found: set[str] = set()
    for text in texts:
        once = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
        twice = {json.dumps(each)[1:-1] for each in once}
        found |= once | twice | {html.escape(text), html.escape(text, quote=False)}
    return found
