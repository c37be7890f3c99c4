"""Rows without the forgotten: what goes, what stays, and whom it never touches."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loading.tables import TABLES
from warehouse.forgetting.forgotten import BLANK, Forgotten, Matcher, matcher, with_person
from warehouse.forgetting.identity import Person
from warehouse.forgetting.scrub import rules_of, scrubbed
from warehouse.forgetting.surgery import raw_without, written
from warehouse.lake.tables import EXTRA, Column, Table, dataset_table

SCHOOL, ID, NAMESAKE = 101, 4711, 4712
PERSON = Person(
    SCHOOL,
    "student",
    frozenset((ID,)),
    frozenset((ID,)),
    frozenset(("7",)),
    frozenset(("S-20231", "13800001111", "x@school.cn")),
    frozenset(("王小明", 'Zoë "Z"')),
)


def listed(*persons: Person, choices: dict[str, tuple[str, ...]] | None = None) -> tuple[Matcher, int]:
    """What recognises persons, and the id that stands for the first."""
    forgotten, substitutes = Forgotten(), []
    for person in persons:
        forgotten, substitute = with_person(
            forgotten, SCHOOL, person.kind, person.marks, since="now", choices=choices or {}
        )
        substitutes.append(substitute)
    person_matcher = matcher(forgotten, SCHOOL)
    assert person_matcher is not None
    return person_matcher, substitutes[0]


KNOWN, ONE = listed(PERSON, choices={"boarding": ("住校", "走读")})


def clean(table: Table, row: dict[str, Any], person_matcher: Matcher = KNOWN) -> dict[str, Any]:
    """A row of a table as it would be stored."""
    schema = table.lake_schema
    batch = pa.RecordBatch.from_pylist([row], schema=schema)
    new, _ = scrubbed(batch, rules_of(table, schema), person_matcher)
    return {name: value for name, value in new.to_pylist()[0].items() if name in row}


def test_row_about_the_person_loses_its_personal_columns() -> None:
    row = {"id": ID, "name": "王小明", "usin": "7", "pupil_id": 99, "graduates_in_id": 3, "_extra": '{"a":1}'}
    assert clean(TABLES["students"], row) == {
        "id": ONE,
        "name": None,
        "usin": None,
        "pupil_id": None,
        "graduates_in_id": 3,
        "_extra": None,
    }


def test_numbers_stay_and_reviews_go() -> None:
    row = {
        "id": 5,
        "owner_id": ID,
        "evaluator_id": 8,
        "valid": True,
        "rank": 2,
        "review": "late",
        "tag": "good",
    }
    assert clean(TABLES["scores"], row) == {**row, "owner_id": ONE, "review": None}


@pytest.mark.parametrize("id", [NAMESAKE, None])
def test_others_stay_as_they_are(id: int | None) -> None:
    row = {"id": 6, "owner_id": id, "review": "late", "score": None}
    assert clean(TABLES["scores"], row) == row


def test_id_in_another_kind_of_column_is_not_the_person() -> None:
    row = {"id": ID, "owner_id": NAMESAKE, "item_id": ID, "rank": ID}
    assert clean(TABLES["scores"], row) == row
    assert clean(TABLES["classes"], {"id": ID, "subject_id": ID}) == {"id": ID, "subject_id": ID}


def test_name_inside_others_words_is_blanked() -> None:
    row = {"id": 6, "owner_id": NAMESAKE, "review": "和王小明打架", "self_review": '(Zoë "Z") asked'}
    new = clean(TABLES["scores"], row)
    assert new["review"] == f"和{BLANK}打架" and new["self_review"] == f"({BLANK}) asked"


def test_number_and_mail_inside_words_are_blanked() -> None:
    row = {
        "id": 6,
        "owner_id": NAMESAKE,
        "review": "call 13800001111, mail X@school.cn; 138000011112 is other",
    }
    assert clean(TABLES["scores"], row)["review"] == f"call {BLANK}, mail {BLANK}; 138000011112 is other"


def test_lists_of_people_lose_one_of_them() -> None:
    people = [{"id": ID, "name": "王小明", "usin": "7"}, {"id": NAMESAKE, "name": "李", "usin": "8"}]
    row = {"id": 3, "students": people, "teachers": None, "teacher_ids": [ID, 9], "name": "高一(1)班"}
    assert clean(TABLES["admin_classes"], row) == {
        **row,
        "students": [{"id": ONE, "name": None, "usin": None}, people[1]],
        "teacher_ids": [ONE, 9],
    }


def test_bare_ids_in_lists_of_people_are_replaced() -> None:
    bare = {"id": ID, "name": None, "usin": None}
    row = {"id": 3, "students": [bare], "grades": [{"id": ID, "name": "高一"}]}
    new = clean(TABLES["classes"], row)
    assert new["students"][0]["id"] == ONE and new["grades"] == row["grades"]


def test_number_alone_names_the_person_and_an_id_wins() -> None:
    alone = {"id": 1, "student_id": None, "usin": "7", "status": "late"}
    assert clean(TABLES["attendance_records"], alone) == {**alone, "student_id": ONE, "usin": None}
    of_another = {"id": 1, "student_id": NAMESAKE, "usin": "7", "status": "late"}
    assert clean(TABLES["attendance_records"], of_another) == of_another


def test_choices_stay_and_other_custom_fields_go() -> None:
    table = TABLES["v1_users"]
    custom = Table(
        table.name,
        (*table.columns, Column("boarding", pa.string(), "", True), Column("hobby", pa.string(), "", True)),
        table.primary_key,
        table.slice_columns,
        "",
    )
    row = {"id": ID, "boarding": "住校", "hobby": "piano", "gender": "m", "phone": "13800001111", "role": 1}
    assert clean(custom, row) == {**row, "id": ONE, "hobby": None, "phone": None}


DATASET = dataset_table(
    "marks",
    (
        Column("id", pa.int64(), ""),
        Column("student_id", pa.int64(), ""),
        Column("学号", pa.string(), ""),
        Column("course", pa.string(), ""),
        Column("score", pa.int64(), ""),
    ),
    ("id",),
    "",
)


def test_dataset_row_loses_its_texts_by_id_or_by_number() -> None:
    row = {"id": 1, "student_id": ID, "学号": None, "course": "语文", "score": ID}
    assert clean(DATASET, row) == {**row, "student_id": ONE, "course": None}
    by_text = {"id": 1, "student_id": None, "学号": "S-20231", "course": "语文", "score": 90}
    assert clean(DATASET, by_text) == {**by_text, "学号": None, "course": None, "student_id": ONE}
    other = {"id": ID, "student_id": NAMESAKE, "学号": "S-20232", "course": "语文", "score": ID}
    assert clean(DATASET, other) == other


def test_text_key_of_a_dataset_becomes_the_substitute() -> None:
    table = dataset_table(
        "people", (Column("code", pa.string(), ""), Column("n", pa.int64(), "")), ("code",), ""
    )
    assert clean(table, {"code": "S-20231", "n": 1}) == {"code": str(ONE), "n": 1}


def test_teacher_in_a_students_row_is_only_mentioned() -> None:
    teacher = Person(SCHOOL, "teacher", frozenset((9,)), frozenset((9,)), names=frozenset(("赵老师",)))
    person_matcher, substitute = listed(teacher)
    table = dataset_table(
        "t",
        (Column("id", pa.int64(), ""), Column("teacher", pa.string(), ""), Column("course", pa.string(), "")),
        ("id",),
        "",
    )
    row = {"id": 1, "teacher": "赵老师", "course": "语文"}
    assert clean(table, row, person_matcher) == {"id": 1, "teacher": None, "course": "语文"}
    courses = {"student_id": 3, "teachers": "赵老师, 李老师", "name": "语文"}
    assert clean(TABLES["transcript_courses"], courses, person_matcher)["teachers"] == f"{BLANK}, 李老师"
    scores = {"id": 1, "owner_id": 3, "evaluator_id": 9, "review": "good"}
    assert clean(TABLES["scores"], scores, person_matcher) == {**scores, "evaluator_id": substitute}


def test_json_beside_the_columns_is_cleaned() -> None:
    extra = json.dumps(
        {"monitor": {"id": ID, "usin": "7", "name": "王小明"}, "n": ID, "student_ids": [ID, 9]}
    )
    new = json.loads(clean(TABLES["classes"], {"id": 3, "_extra": extra})["_extra"])
    assert new == {"monitor": {"id": ONE, "usin": None, "name": None}, "n": ID, "student_ids": [ONE, 9]}


@pytest.mark.parametrize(
    "raw",
    ['{"id":"?","student":{"id":4711}}', '{"owner_id":4711}', '{"x":"王小明"}', "S-20231 is no JSON"],
)
def test_quarantined_row_is_not_kept(raw: str) -> None:
    assert "4711" not in raw_without(KNOWN, "scores", raw) and "王" not in raw_without(KNOWN, "scores", raw)
    assert "S-20231" not in raw_without(KNOWN, "scores", raw)


def test_quarantined_row_of_another_stays() -> None:
    raw = '{"id":"?","owner_id":4712,"score":4711}'
    assert raw_without(KNOWN, "scores", raw) == raw


def test_words_of_a_log_lose_ids_near_a_word_for_persons() -> None:
    assert KNOWN.cleaned_words("student 4711, 4712: status 404") == f"student {BLANK}, 4712: status 404"
    assert (
        KNOWN.cleaned_words("read 4711 rows of 101:4711 in 0.4711 s")
        == "read 4711 rows of 101:4711 in 0.4711 s"
    )


def test_write_about_the_person_loses_its_content() -> None:
    row = {"operation": "change_user", "target": str(ID), "row": "S-20231", "source": "a.csv"}
    new = written(KNOWN, {**row, "sent": '{"hobby":"piano"}', "answer": '{"id":4711}'})
    assert "piano" not in str(new) and "4711" not in str(new) and new["target"] == str(ONE)
    lesson = {"operation": "mark_lesson", "target": "7", "row": "2", "source": "a.csv", "answer": None}
    sent = '[{"student_id":4711,"status":"late"},{"student_id":4712,"status":"normal"}]'
    marks = json.loads(written(KNOWN, {**lesson, "sent": sent})["sent"])
    assert marks[0]["student_id"] == ONE and marks[1] == {"student_id": 4712, "status": "normal"}


def test_batch_without_the_forgotten_is_the_same_object() -> None:
    schema = TABLES["scores"].staging_schema
    batch = pa.RecordBatch.from_pylist([{"id": 1, "owner_id": NAMESAKE}], schema=schema)
    assert scrubbed(batch, rules_of(TABLES["scores"], schema), KNOWN) == (batch, 0)


TEACHER = Person(SCHOOL, "teacher", frozenset((9,)), frozenset((9,)), names=frozenset(("赵老师",)))
BOTH, _ = listed(PERSON, TEACHER, choices={"boarding": ("住校", "走读")})
INTEGERS = st.sampled_from([None, 1, 9, ID, NAMESAKE, 13800001111])
ABOUT_PERSONS = [json.dumps({"student_id": ID, "note": "王小明"}), json.dumps({"id": 9, "usin": "7"})]
TEXTS = st.sampled_from(
    [
        *(None, "7", "9", str(ID), "S-20231", "13800001111", "王小明", "赵老师", "和王小明打架", "住校"),
        *ABOUT_PERSONS,
    ]
)


def values_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a column that may be about a forgotten person."""
    if pa.types.is_list(kind):
        return st.none() | st.lists(values_of(kind.value_type), max_size=2)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({field.name: values_of(field.type) for field in kind})
    if pa.types.is_integer(kind):
        return INTEGERS
    return TEXTS if pa.types.is_string(kind) else st.none()


@pytest.mark.parametrize(
    "table",
    [TABLES[name] for name in ("students", "v1_users", "scores", "classes", "attendance_records")]
    + [DATASET, dataset_table("people", DATASET.columns[:3], ("学号",), "")],
    ids=lambda table: table.name,
)
@given(data=st.data())
def test_scrubbing_twice_changes_nothing(table: Table, data: st.DataObject) -> None:
    """Rows are scrubbed again where staged rows are copied, and in each night that follows."""
    schema = table.staging_schema
    rows = st.fixed_dictionaries(
        {field.name: values_of(field.type) for field in (*table.row_schema, schema.field(EXTRA))}
    )
    batch = pa.RecordBatch.from_pylist(data.draw(st.lists(rows, max_size=3)), schema=schema)
    rules = rules_of(table, schema)
    once, _ = scrubbed(batch, rules, BOTH)
    assert scrubbed(once, rules, BOTH) == (once, 0)
