"""Finds all ids, numbers, names and addresses that the lake has for a person."""

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
#: Columns of the tables of people that identify a person.
_ADDRESSES = ("phone", "email", "outer_id", "card_id", "pupil_id", "avatar_url")
_NAMES = ("name", "pinyin")
_MARKS = (NUMBER, *_NAMES, *_ADDRESSES)
#: The tables of people, by interface.
_V3_TABLES = ("students", "teachers", "reflections")
_V1_TABLES = ("v1_users", "v1_class_students", "cards")
#: Tables whose rows are about students only.
_STUDENT_TABLES = (
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
#: Tables and columns that contain persons, by interface.
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
#: The least length of a name that is recognized inside a text.
SHORTEST_NAME = 2


class Person(msgspec.Struct, frozen=True):
    """A person of a school, with everything that identifies the person, unhashed."""

    school_id: int
    #: student, teacher or guardian.
    kind: str
    #: Ids in the v3 interface, then in v1.
    v3: frozenset[int] = frozenset()
    v1: frozenset[int] = frozenset()
    #: Student or teacher numbers, from the column usin.
    numbers: frozenset[str] = frozenset()
    #: Addresses and numbers that are recognized anywhere in the school's rows.
    tokens: frozenset[str] = frozenset()
    #: Names that are recognized anywhere in the school's rows.
    names: frozenset[str] = frozenset()
    #: The tokens and names that other schools use for another person or thing.
    elsewhere: frozenset[str] = frozenset()
    #: The number of names and addresses that other people of the school have too. They are removed only from
    #: rows about this person.
    shared: int = 0
    #: Pairs of an interface and an id that may also be this person's. They are left alone.
    uncertain: frozenset[tuple[str, int]] = frozenset()

    @property
    def ids(self) -> frozenset[int]:
        """The ids in both interfaces."""
        return self.v3 | self.v1

    @property
    def marks(self) -> list[tuple[str, str]]:
        """The pairs of a kind and a value that the list of the forgotten hashes, the ids first."""
        return [
            *((V3, str(id)) for id in sorted(self.v3)),
            *((V1, str(id)) for id in sorted(self.v1)),
            *((NUMBER_MARK, number) for number in sorted(self.numbers)),
            *((TOKEN, folded_token(token)) for token in sorted(self.tokens)),
            *((NAME_MARK, name) for name in sorted(self.names)),
        ]

    def joined(self, other: Person) -> Person:
        """Merge two readings of the same person."""
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
        """Whether both have the same kind, and share an id in the same interface."""
        return self.kind == other.kind and bool(self.v3 & other.v3 or self.v1 & other.v1)


@dataclass
class Account:
    """Everything that the tables have for an id in one interface."""

    generation: str
    id: int
    #: student, teacher or guardian; empty: unknown.
    kind: str = ""
    numbers: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    #: A guardian's student, by id.
    ward: int | None = None

    def is_another(self, other: Account) -> bool:
        """Whether kinds or numbers show that the accounts belong to different persons."""
        kinds_differ = bool(self.kind and other.kind and self.kind != other.kind)
        return kinds_differ or bool(self.numbers and other.numbers and not self.numbers & other.numbers)


@dataclass(frozen=True)
class Identity:
    """The ids of a person, as pairs of an interface and an id."""

    kind: str
    keys: frozenset[tuple[str, int]]
    #: Ids that may also be the person's.
    uncertain: frozenset[tuple[str, int]] = frozenset()


class People:
    """All persons of a school in the lake, deleted persons too. `tables`: the platform's tables, by name."""

    def __init__(self, lake: Lake, school_id: int, tables: Mapping[str, Table]) -> None:
        self._lake, self.school_id, self._tables = lake, school_id, tables
        self._listed = matcher_of(lake, school_id)
        self.accounts: dict[tuple[str, int], Account] = {}
        for generation, names in ((V3, _V3_TABLES), (V1, _V1_TABLES)):
            for name in names:
                for row in self._rows(name):
                    self._note(generation, name, row)
            for name, column in _NESTED[generation]:
                for row in self._rows(name, [column]):
                    for person in row[column] if isinstance(row[column], list) else [row[column]]:
                        self._note(generation, f"{name}.{column}", person or {})

    def find(self, kind: str, id: int, *, of_v1: bool = False) -> list[Person]:
        """The person of a kind with an id, followed by a student's guardians. Empty: the lake has no such id.

        The id is looked up in v3, then in v1. `of_v1`: in v1 only."""
        own = self._identity(kind, id, of_v1=of_v1)
        if own is None:
            return []
        return self._persons([own, *(self._guardians_of(own) if kind == STUDENT else ())])

    def listed(self) -> list[Person]:
        """The persons on the list of the forgotten of whom the lake still has rows."""
        if self._listed is None:
            return []
        substitutes = {id for key in self.accounts if (id := self._substitute(*key)) is not None}
        return self._persons([self._listed_identity(substitute) for substitute in sorted(substitutes)])

    def other_kinds(self, kind: str, id: int) -> list[str]:
        """The other kinds of persons with this id, in both interfaces."""
        kinds = {self.accounts[key].kind for key in ((V3, id), (V1, id)) if key in self.accounts}
        if not kinds and self._is_named(id, _STUDENT_TABLES):
            kinds = {STUDENT}
        return sorted(kinds - {kind, ""})

    def _identity(self, kind: str, id: int, *, of_v1: bool) -> Identity | None:
        """The identity of the person of a kind with an id. A person on the list keeps the list's ids, since
        the rows that paired them may be gone by now."""
        for generation in (V1,) if of_v1 else (V3, V1):
            key = (generation, id)
            substitute = self._substitute(*key)
            if self._listed and substitute is not None and self._listed.kinds[substitute] == kind:
                listed = self._listed_identity(substitute)
                return Identity(kind, listed.keys | {key})
            own = self.accounts.get(key)
            if own is not None and own.kind in (kind, ""):
                return self._paired(own, kind)
        is_unknown = (V1, id) not in self.accounts and (of_v1 or (V3, id) not in self.accounts)
        if is_unknown and kind == STUDENT and self._is_named(id, SUBJECTS):
            return Identity(kind, frozenset({(V1, id)} if of_v1 else {(V3, id), (V1, id)}))
        return None

    def _guardians_of(self, student: Identity) -> list[Identity]:
        """The guardians of a student. A guardian's account belongs to a single student."""
        return [
            self._paired(account, GUARDIAN)
            for (generation, _), account in self.accounts.items()
            if generation == V1 and account.kind == GUARDIAN and (V1, account.ward) in student.keys
        ]

    def _paired(self, own: Account, kind: str) -> Identity:
        """The person of an account, with the id in the other interface: the account with the same number,
        else with the same id, unless numbers or kinds differ. An id that may be another person's is not
        taken."""
        key, other = (own.generation, own.id), V1 if own.generation == V3 else V3
        same = self.accounts.get((other, own.id))
        numbered = {account.id for account in self._holders(other, kind, own.numbers)}
        namesakes = {account.id for account in self._holders(own.generation, kind, own.numbers)} - {own.id}
        # The ids that may be the person's, and the id that certainly is.
        possible, sure = numbered, None
        if own.id in numbered or (len(numbered) == 1 and not namesakes):
            sure = own.id if own.id in numbered else next(iter(numbered))
        elif same is not None and not numbered:
            is_taken = bool(self._holders(own.generation, "", same.numbers, but=own.id))
            if same.kind in (kind, "") and not own.is_another(same) and not is_taken:
                sure = own.id
            elif not is_taken and (kind != GUARDIAN or same.kind in (kind, "")):
                # Numbers change, and no other person uses this id.
                possible = {own.id}
        elif same is None and not numbered and kind != GUARDIAN and self._substitute(other, own.id) is None:
            sure = own.id
        if same is not None and same.kind in (kind, "") and not own.is_another(same):
            possible = possible | {own.id}
        keys = {key} if sure is None else {key, (other, sure)}
        return Identity(kind, frozenset(keys), frozenset((other, id) for id in possible - {sure}))

    def _holders(
        self, generation: str, kind: str, numbers: set[str], but: int | None = None
    ) -> list[Account]:
        """The accounts of an interface that have any of the numbers. `kind`: empty for any."""
        return [
            account
            for (interface, id), account in self.accounts.items()
            if interface == generation
            and id != but
            and account.numbers & numbers
            and (not kind or account.kind in (kind, ""))
        ]

    def _substitute(self, generation: str, id: int) -> int | None:
        """The substitute of a person on the list of the forgotten; None: the id is not on the list."""
        return None if self._listed is None else self._listed.find(generation, str(id))

    def _listed_identity(self, substitute: int) -> Identity:
        """The identity of a person on the list, with the ids that are in the lake."""
        assert self._listed is not None
        keys = frozenset(key for key in self.accounts if self._substitute(*key) == substitute)
        return Identity(self._listed.kinds[substitute], keys)

    def _persons(self, group: Sequence[Identity]) -> list[Person]:
        """The persons of a request. Names and addresses that only they share count as their own."""
        keys = {key for identity in group for key in identity.keys}
        others = [account for key, account in self.accounts.items() if key not in keys]
        return [self._person(identity, others, keys) for identity in group]

    def _person(self, own: Identity, others: Sequence[Account], taken_up: set[tuple[str, int]]) -> Person:
        accounts = [self.accounts[key] for key in sorted(own.keys) if key in self.accounts]
        numbers = {number for account in accounts for number in account.numbers}
        names = {name for account in accounts for name in account.names}
        addresses = numbers | {address for account in accounts for address in account.addresses}
        taken = {folded_token(text) for other in others for text in (*other.addresses, *other.numbers)}
        tokens = {
            address
            for address in addresses
            if len(address) >= SHORTEST_TOKEN and folded_token(address) not in taken
        }
        clear = self._unmistakable(names, others)
        # Tokens with spaces or other signs are searched like names, since no word of a text can match them.
        spaced = {token for token in tokens if not TOKENS.fullmatch(token)}
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

    def _unmistakable(self, names: set[str], others: Sequence[Account]) -> set[str]:
        """The names that no other person and no thing in the school has."""
        long_enough = {name for name in names if len(name) >= SHORTEST_NAME}
        if not long_enough:
            return set()
        elsewhere = {name for other in others for name in other.names} | self._words()
        return {name for name in long_enough if not any(holds_name(text, name) for text in elsewhere)}

    def _words(self, *, of_others: bool = False) -> set[str]:
        """The names of classes, courses, terms and so on in this school; `of_others`: in other schools."""
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
        """The texts that other schools have too. Rows of other schools stay."""
        others: set[str] = self._words(of_others=True)
        marked: list[tuple[str, tuple[str, ...]]] = [(name, _MARKS) for name in (*_V3_TABLES, *_V1_TABLES)]
        marked += [(name, (column,)) for nested in _NESTED.values() for name, column in nested]
        for name, marks in marked:
            table = self._tables[name]
            columns = [column.name for column in table.columns if column.name in marks]
            if self._lake.holds(table):
                rows = self._scan_others(table, columns)
                for column in columns:
                    others.update(_marks_in(rows[column].combine_chunks()))
        return frozenset(text for text in texts if any(holds_name(other, text) for other in others))

    def _is_named(self, id: int, names: Iterable[str]) -> bool:
        """Whether any of the tables has a row about an id. The tables of people may lack ids, such as that of
        a student who left long ago."""
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
        id = next((candidate for candidate in ids if candidate is not None), None)
        if id is None:
            return
        account = self.accounts.setdefault((generation, id), Account(generation, id))
        account.kind = account.kind or _kind(table, row)
        if table == "v1_users":
            account.ward = row.get("student_id")
        for part in (row, inside):
            account.numbers.update(_clean(part[name]) for name in (NUMBER,) if part.get(name))
            account.names.update(_clean(part[name]) for name in _NAMES if part.get(name))
            account.addresses.update(
                _clean(part[name]) for name in _ADDRESSES if part.get(name) not in (None, "")
            )

    def _rows(self, name: str, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        table = self._tables[name]
        if not self._lake.holds(table):
            return
        columns = columns or [
            column.name
            for column in table.columns
            if column.name in ("id", "rid", "student_id", "role", *_MARKS)
        ]
        yield from self._scan(table, columns).to_pylist()

    def _scan_others(self, table: Table, columns: Sequence[str]) -> pa.Table:
        is_other = pc.field(SCHOOL_ID.name) != self.school_id
        return self._lake.scan(table, self._lake.open(table), columns, is_other)

    def _scan(self, table: Table, columns: Sequence[str], condition: pc.Expression | None = None) -> pa.Table:
        slice = Slice.of(_school_id=self.school_id)
        return self._lake.scan(table, self._lake.open(table), columns, condition, slice)


def choices_of(lake: Lake, table: Table, school_id: int) -> dict[str, tuple[str, ...]]:
    """The custom fields of a school that are a choice, with their values, such as names of diets. They
    identify nobody, and totals depend on them. `table`: the table of user_fields."""
    if not lake.holds(table):
        return {}
    rows = lake.scan(table, lake.open(table), ["name", "options"], None, Slice.of(_school_id=school_id))
    return {row["name"]: tuple(row["options"]) for row in rows.to_pylist() if row["options"]}


def _kind(table: str, row: Mapping[str, Any]) -> str:
    """The kind of a person in a row; empty: unknown."""
    if table in ("students", "v1_class_students", "cards") or table.endswith(".students"):
        return STUDENT
    if table == "teachers" or table.endswith((".teachers", ".director")):
        return TEACHER
    role = row.get("role")
    if isinstance(role, int):
        return ROLES.get(role, TEACHER)
    return {"student": STUDENT, "guardian": GUARDIAN}.get(str(role), TEACHER if role else "")


def _marks_in(values: pa.Array[Any]) -> set[str]:
    """Names, numbers and addresses in a column: texts, or persons and lists of them."""
    if pa.types.is_list(values.type):
        return _marks_in(pc.list_flatten(values))
    if pa.types.is_struct(values.type):
        fields = [field.name for field in values.type if field.name in (*_MARKS, "reflection")]
        return {mark for name in fields for mark in _marks_in(pc.struct_field(values, name))}
    return {_clean(value) for value in pc.unique(values).to_pylist() if value not in (None, "")}


def _clean(value: Any) -> str:
    return unicodedata.normalize("NFC", str(value).strip())


def variants(texts: Iterable[str]) -> set[str]:
    """Texts as files may have them: plain, and escaped by JSON (once or twice), XML and HTML."""
    escaped: set[str] = set()
    for text in texts:
        once = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
        twice = {json.dumps(variant)[1:-1] for variant in once}
        escaped |= once | twice | {html.escape(text), html.escape(text, quote=False)}
    return escaped
