"""The request of a `campus forget`, and its file in the home.

The file stays until the proof. Once the lake has forgotten the persons, only the file says what to search the
other places for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from loading.tables import TABLES
from pipelines.forgetting.account import SCHOOL, SEVERAL, UNPROVEN
from pipelines.settings.settings import Settings
from warehouse.files import put_in_place
from warehouse.forgetting.identity import People, Person
from warehouse.lake.delta import Lake


class UnknownPerson(Exception):
    """The home has nothing about this id."""


class WrongKind(Exception):
    """The id belongs to a person of another kind."""


class Request(msgspec.Struct, frozen=True):
    """A person, several persons or a school to forget."""

    school_id: int
    kind: str
    id: int
    #: The person of the id, then guardians. A school has none.
    persons: tuple[Person, ...] = ()
    #: The id is an id of v1.
    of_v1: bool = False

    @property
    def words(self) -> str:
        """The request in words that name nobody."""
        if self.kind == SCHOOL:
            return f"school {self.school_id}"
        if self.kind == SEVERAL:
            return f"everybody on the list of school {self.school_id}"
        guardians = len(self.persons) - 1
        accounts = "" if not guardians else f" and {guardians} guardian account{'s' * (guardians > 1)}"
        return f"a {self.kind}{accounts} of school {self.school_id}"

    def path(self, home: Path) -> Path:
        """The file of the request."""
        id = f"v1-{self.id}" if self.of_v1 else self.id
        return home / UNPROVEN / f"{self.school_id}-{self.kind}-{id}.json"

    def write(self, home: Path) -> None:
        """Write the file, for this user alone."""
        path = self.path(home)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(msgspec.json.encode(self))
        put_in_place(unfinished, path)


def request_of(
    settings: Settings, lake: Lake, school_id: int, kind: str, id: int, *, of_v1: bool = False
) -> Request:
    """The request for an id, with the persons in the lake and in the file of an unfinished attempt.

    Raises WrongKind if the id belongs to another kind of person, and UnknownPerson if neither has the id."""
    people = People(lake, school_id, TABLES)
    request = _with_earlier_persons(
        settings.home, Request(school_id, kind, id, tuple(people.find(kind, id, of_v1=of_v1)), of_v1)
    )
    if not request.persons and (kinds := people.other_kinds(kind, id)):
        options = " or ".join(f"--{other}" for other in kinds)
        raise WrongKind(f"{id} of school {school_id} is a {' and a '.join(kinds)}: say {options}")
    if not request.persons:
        raise UnknownPerson(f"this home has no {kind} {id} of school {school_id}")
    return request


def request_of_list(settings: Settings, lake: Lake, school_id: int) -> Request:
    """The request for all persons of a school who are on the list and in the lake. The lake matches rows by
    the list itself, and files by these persons."""
    persons = People(lake, school_id, TABLES).listed()
    return _with_earlier_persons(settings.home, Request(school_id, SEVERAL, 0, tuple(persons)))


def request_of_unknown_id(school_id: int, kind: str, id: int, *, of_v1: bool = False) -> Request:
    """The request for an id that the home lacks, so that no load ever brings the id."""
    ids = frozenset((id,))
    return Request(school_id, kind, id, (Person(school_id, kind, frozenset() if of_v1 else ids, ids),), of_v1)


def _with_earlier_persons(home: Path, request: Request) -> Request:
    """The request, joined with the persons of an unfinished attempt."""
    try:
        earlier = msgspec.json.decode(request.path(home).read_bytes(), type=Request)
    except FileNotFoundError:
        return request
    return msgspec.structs.replace(request, persons=tuple(merged_persons(earlier.persons, request.persons)))


def merged_persons(earlier: Iterable[Person], current: Iterable[Person]) -> list[Person]:
    """The persons of two attempts, without repetition."""
    persons = list(earlier)
    for person in current:
        same = next((other for other in persons if other.is_same(person)), None)
        if same is None:
            persons.append(person)
        else:
            persons[persons.index(same)] = same.joined(person)
    return persons
