"""Whom an id means where the two interfaces number people apart: a stranger is never taken."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from loading.tables import TABLES
from pipelines.forgetting.job import Job, note_uncertain_ids
from pipelines.forgetting.requests import WrongKind, merged_persons, request_of, request_of_list
from pipelines.settings.settings import settings_apart
from tests.kits.lake.readings import reading_of
from tests.kits.programs.command_line import campus
from warehouse.forgetting.columns import V1, V3
from warehouse.forgetting.forgotten import Forgotten, change, with_person
from warehouse.forgetting.identity import People, Person
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.commit import Guard, commit
from warehouse.load.stage import StageWriter

SCHOOL = 101
STUDENT, TEACHER, GUARDIAN = 1, 2, 8
OF_SEMESTERS = ("grades", "v1_classes")
Rows = list[dict[str, Any]]


def lake_with(home: Path, school_id: int = SCHOOL, **tables: Rows) -> Lake:
    """A lake that has rows in some tables of a school."""
    lake = Lake(str(home / "lake"))
    for name, rows in tables.items():
        table, work = TABLES[name], home / "work"
        lake.ensure([table])
        sent = [{"_trashed": False, **row} for row in rows]
        with StageWriter(table, work, synced_at=datetime(2026, 3, 2)) as spool:
            spool.write(pa.RecordBatch.from_pylist(sent, schema=table.staging_schema))
            reading = reading_of(spool.finish(), datetime(2026, 3, 2))
            slice = Slice.of(_school_id=school_id, **({"_semester_id": 20} if name in OF_SEMESTERS else {}))
            commit(lake, table, slice, reading, Guard(allowed=True), work)
    return lake


def user(id: int, role: int, usin: str | None = None, **fields: Any) -> dict[str, Any]:
    """A row of v1_users."""
    return {"id": id, "role": role, "usin": usin, **fields}


def found(lake: Lake, kind: str, id: int, *, of_v1: bool = False) -> list[tuple[set[int], set[int]]]:
    """The ids of v3 and v1 of each person whom an id means."""
    persons = People(lake, SCHOOL, TABLES).find(kind, id, of_v1=of_v1)
    return [(set(person.v3), set(person.v1)) for person in persons]


PAIRS: Mapping[str, tuple[dict[str, Any], Rows, set[int], set[tuple[str, int]]]] = {
    "same number, same id": ({"usin": "S500"}, [user(500, STUDENT, "S500")], {500}, set()),
    "same number, another id": (
        {"usin": "S500"},
        [user(500, STUDENT, "S999"), user(777, STUDENT, "S500")],
        {777},
        set(),
    ),
    "id of a teacher": ({"usin": "S500"}, [user(500, TEACHER, "T9")], set(), {(V1, 500)}),
    "another number": ({"usin": "S500"}, [user(500, STUDENT, "S999")], set(), {(V1, 500)}),
    "number of a teacher": ({"usin": "9"}, [user(500, TEACHER, "9")], set(), {(V1, 500)}),
    "number twice": (
        {"usin": "S500"},
        [user(700, STUDENT, "S500"), user(701, STUDENT, "S500")],
        set(),
        {(V1, 700), (V1, 701)},
    ),
    "no numbers": ({}, [user(500, STUDENT)], {500}, set()),
    "nobody there": ({"usin": "S500"}, [user(3, STUDENT, "S3")], {500}, set()),
    # Student 600 of v3 has this number.
    "number of another student": ({}, [user(500, STUDENT, "S600")], set(), {(V1, 500)}),
}


@pytest.mark.parametrize("case", PAIRS)
def test_only_the_same_person_is_paired(case: str, tmp_path: Path) -> None:
    own, users, v1, uncertain = PAIRS[case]
    lake = lake_with(tmp_path, students=[{"id": 500, **own}, {"id": 600, "usin": "S600"}], v1_users=users)
    [person] = People(lake, SCHOOL, TABLES).find("student", 500)
    assert (person.v3, person.v1, person.uncertain) == ({500}, v1, uncertain)


def test_guardian_takes_no_student_of_the_same_id(tmp_path: Path) -> None:
    lake = lake_with(
        tmp_path,
        students=[{"id": 500, "usin": "S500"}, {"id": 900, "usin": "S900", "name": "Carl"}],
        v1_users=[user(500, STUDENT, "S500"), user(900, GUARDIAN, student_id=500)],
    )
    assert found(lake, "student", 500) == [({500}, {500}), (set(), {900})]
    assert found(lake, "guardian", 900) == [(set(), {900})]
    assert found(lake, "student", 900) == [({900}, set())]


def test_account_of_v1_can_be_named(tmp_path: Path) -> None:
    lake = lake_with(
        tmp_path,
        students=[{"id": 500, "usin": "S500"}],
        v1_users=[user(500, STUDENT, "S999"), user(777, STUDENT, "S500")],
    )
    assert found(lake, "student", 500, of_v1=True) == [(set(), {500})]
    assert found(lake, "student", 777) == [({500}, {777})]


def put_on_list(lake: Lake, kind: str, *marks: tuple[str, str]) -> Forgotten:
    """Put a person on the list by some ids."""
    return change(lake, lambda before: with_person(before, SCHOOL, kind, marks, since="", choices={})[0])


def test_same_command_again_takes_no_stranger(tmp_path: Path) -> None:
    """The rows that paired the ids are gone, and v1 has another student under the id of v3."""
    lake = lake_with(
        tmp_path,
        students=[{"id": 600, "usin": "S600"}],
        v1_users=[user(500, STUDENT, "S999"), user(777, STUDENT)],
    )
    put_on_list(lake, "student", (V3, "500"), (V1, "777"))
    assert found(lake, "student", 500) == [({500}, {777})]
    assert found(lake, "student", 500, of_v1=True) == [(set(), {500})]


def test_list_takes_exactly_its_own_ids(tmp_path: Path) -> None:
    """A restore: the account 700 of v1 is on the list, and student 700 of v3 is another one."""
    home = tmp_path / "home"
    lake = lake_with(
        home,
        students=[{"id": 7, "usin": "S7"}, {"id": 700, "usin": "S700"}],
        v1_users=[user(700, STUDENT, "S7"), user(8, STUDENT, "S700")],
    )
    put_on_list(lake, "student", (V3, "7"), (V1, "700"))
    [person] = request_of_list(settings_apart(home), lake, SCHOOL).persons
    assert (person.v3, person.v1, person.kind) == ({7}, {700}, "student")


def test_attempts_are_joined_by_ids_of_one_interface() -> None:
    guardian, carl = (
        Person(SCHOOL, "student", v1=frozenset({900})),
        Person(SCHOOL, "student", frozenset({900})),
    )
    assert merged_persons([guardian], [carl]) == [guardian, carl]
    again = Person(SCHOOL, "student", frozenset({901}), frozenset({900}))
    assert merged_persons([guardian], [again]) == [again]


def test_what_is_shared_within_the_request_is_searched(tmp_path: Path) -> None:
    """A phone of a student and the own guardian is theirs; that of a sibling stays."""
    lake = lake_with(
        tmp_path,
        students=[{"id": 500, "usin": "S-500"}, {"id": 600, "usin": "S-600"}],
        v1_users=[
            user(500, STUDENT, "S-500", phone="17000055555", email="home@example.cn"),
            user(600, STUDENT, "S-600", email="home@example.cn"),
            user(900, GUARDIAN, phone="17000055555", student_id=500),
        ],
    )
    student, guardian = People(lake, SCHOOL, TABLES).find("student", 500)
    assert student.tokens == {"S-500", "17000055555"} and guardian.tokens == {"17000055555"}
    assert (student.shared, guardian.shared) == (1, 0)
    [alone] = People(lake, SCHOOL, TABLES).find("guardian", 900)
    assert alone.tokens == set()


def test_marks_of_people_inside_other_rows_are_theirs(tmp_path: Path) -> None:
    """Of a teacher of v1 only the rows of classes have the name in Latin letters."""
    lake_with(tmp_path, teachers=[{"id": 50, "name": "王伟"}], v1_users=[user(50, TEACHER, "T-500")])
    twin = {
        "id": 70,
        "name": "王薇",
        "pinyin": "wangwei",
        "reflection": {"id": 70, "name": "王伟", "usin": "T-500"},
    }
    own = {"id": 50, "name": "王伟", "pinyin": "wangwei"}
    for school_id, person in ((SCHOOL, own), (102, twin)):
        lake = lake_with(tmp_path, school_id, v1_classes=[{"id": 1, "teachers": [person]}])
    [teacher] = People(lake, SCHOOL, TABLES).find("teacher", 50)
    assert {"王伟", "wangwei"} <= teacher.names
    assert teacher.elsewhere == {"王伟", "wangwei", "T-500"}


def test_id_of_another_kind_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    lake = lake_with(home, students=[{"id": 20231, "usin": "S1"}], grades=[{"id": 1, "owner_id": 20232}])
    for id in (20231, 20232):
        with pytest.raises(WrongKind, match=f"{id} of school 101 is a student: say --student"):
            request_of(settings_apart(home), lake, SCHOOL, "guardian", id)
    said = campus(
        tmp_path,
        *("forget", "--school", "101", "--guardian", "20231", "--yes"),
        CAMPUS_HOME=str(home),
        DAGSTER_HOME=str(home / "dagster"),
        HOME=str(tmp_path),
    )
    assert said.exit_code == 1 and "say --student; nothing was changed" in said.output
    assert not (home / "lake" / "forgotten.json").exists()


def test_left_accounts_are_named_on_the_screen_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    lake = lake_with(home, students=[{"id": 500, "usin": "S500"}], v1_users=[user(500, STUDENT, "S999")])
    settings, said = settings_apart(home), list[str]()
    request = request_of(settings, lake, SCHOOL, "student", 500)
    job = Job.of(settings, request, {}, said.append, apply=False)
    note_uncertain_ids(job)
    assert "left as it is: id 500 of v1, since nothing proves that it is the same student" in said[0]
    assert "--student 500 --v1" in said[0]
    assert "500" not in "".join(job.account.left) and "left as they are: 1" in job.account.left[0]
    request.write(settings.home)
    assert request_of(settings, lake, SCHOOL, "student", 500).persons == request.persons


@pytest.mark.parametrize("option", ["--student", "--teacher", "--guardian", "--school"])
def test_ids_are_positive(option: str, tmp_path: Path) -> None:
    said = campus(tmp_path, "forget", "--school", "101", option, "-5", CAMPUS_HOME=str(tmp_path / "home"))
    assert said.exit_code == 2 and "-5 is not in the range" in said.output
