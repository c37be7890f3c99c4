"""An operator's wishes against the metadata: the query that follows, or what is wrong, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from campus.datasets.selection import (
    DatasetQuery,
    Selection,
    SelectionError,
    TableSelection,
    embedded_datasets,
    plan_query,
    selected_names,
    unmatched_patterns,
)
from campus.decoding.definition import Definition
from tests.kits.platforms.datasets_made import EVERYTHING, STUDENTS, dataset, field

NAMES = ("course_scores", "course_drafts", "students", "家长 问卷: 2025", "a[1]")
SCHOOL = {"scores": EVERYTHING, "students": STUDENTS}


def ask(wishes: TableSelection, definition: Definition = EVERYTHING, **options: Any) -> DatasetQuery:
    return plan_query(Selection(tables={definition.name: wishes}, **options), definition, SCHOOL, 101)


def problems(wishes: TableSelection, definition: Definition = EVERYTHING) -> list[str]:
    with pytest.raises(SelectionError) as error:
        ask(wishes, definition)
    return error.value.message.splitlines()


def filtered(filters: Mapping[str, Any], **options: Any) -> dict[str, str]:
    return ask(TableSelection(filters=filters), **options).params


@pytest.mark.parametrize(
    ("include", "exclude", "names"),
    [
        (("*",), (), NAMES),
        (("course_*",), ("*_drafts",), ["course_scores"]),
        (("Course_*",), (), []),
        (("家长*", "students"), (), ["students", "家长 问卷: 2025"]),
        (("a[1]",), (), ["a[1]"]),
        ((), (), []),
    ],
)
def test_which_datasets_are_read(include: Any, exclude: Any, names: Sequence[str]) -> None:
    assert selected_names(Selection(include, exclude), NAMES) == list(names)


def test_a_pattern_that_matches_nothing_is_told_with_what_may_be_meant() -> None:
    selection = Selection(("course_score", "stud*"), ("x",), {"家长 问卷 2025": TableSelection()})
    assert unmatched_patterns(selection, NAMES) == [
        "campus.yaml, datasets.include: no dataset matches 'course_score'; did you mean course_scores?",
        "campus.yaml, datasets.exclude: no dataset matches 'x'",
        "campus.yaml, datasets.tables: no dataset matches '家长 问卷 2025'; did you mean 家长 问卷: 2025?",
    ]
    assert unmatched_patterns(Selection(), []) == []


def test_without_wishes_everything_is_asked_for() -> None:
    assert plan_query(Selection(), EVERYTHING, SCHOOL, 101) == DatasetQuery({}, None, ())


def test_the_key_and_updated_at_are_always_asked_for() -> None:
    query = ask(TableSelection(fields=("points", "名称")))
    assert query.fields == ("id", "points", "名称", "updated_at")
    assert query.params == {"fields": "id,points,名称,updated_at"}


def test_relations_are_asked_for_and_lead_to_their_dataset() -> None:
    query = ask(TableSelection(expand=("student", "student")))
    assert query == DatasetQuery({"expand": "student"}, None, ("student",))
    assert embedded_datasets(EVERYTHING, query.expand, SCHOOL) == {"student": STUDENTS}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("id_in", (1, 2), "1,2"),
        ("count_egt", -5, "-5"),
        ("points_elt", 59.5, "59.5"),
        ("points_egt", "0.0000001", "0.0000001"),
        ("points_in", (1, "2.50"), "1,2.50"),
        ("level_in", ("A", "B"), "A,B"),
        ("term_in", 1, "1"),
        ("day_egt", "2025-03-01", "2025-03-01"),
        ("updated_at_elt", "2025-03-01 10:00:00", "2025-03-01 10:00:00"),
        ("passed_in", True, "1"),
        ("名称_like", "a, b", "a, b"),
        ("remark text_is_empty", False, "0"),
        ("day_is_empty", 1, "1"),
    ],
)
def test_filters_become_parameters(name: str, value: Any, text: str) -> None:
    assert filtered({name: value}) == {name: text}


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("ponits_egt", 1, "did you mean points_egt"),
        ("points_gt", 1, "with in, egt, elt, like, is_empty for operators; did you mean points_egt"),
        ("count_egt", "five", "count is of type integer: expected a whole number"),
        ("count_egt", True, "count is of type integer: expected a whole number"),
        ("count_egt", 1.5, "count is of type integer: expected a whole number"),
        ("count_egt", (1, 2), "expected one value, not a list"),
        ("count_in", (), "expected at least one value"),
        ("points_egt", "many", "points is of type decimal: expected a number"),
        ("points_egt", "NaN", "points is of type decimal: expected a number"),
        ("level_in", ("A", "b"), "the metadata do not list 'b'; it lists A, B"),
        ("day_egt", "2025-02-30", "day is of type date: expected a date, YYYY-MM-DD"),
        ("updated_at_egt", "2025-03-01", "expected a moment, YYYY-MM-DD HH:MM:SS"),
        ("passed_in", "yes", "passed is of type boolean: expected true or false"),
        ("名称_in", 12, "expected text, in quotes where it looks like a number"),
        ("名称_in", "a,b", "a value with a comma in it cannot be listed"),
        ("名称_in", ("a,b", "c"), "a value with a comma in it cannot be listed"),
        ("名称_like", 5, "expected text"),
        ("count_like", "5", "count is of type integer, and `like` is for text"),
        ("day_is_empty", "no", "expected true or false"),
        ("id_egt", 5, "the load itself asks for ranges of the key; filter by another field"),
    ],
)
def test_a_filter_that_cannot_be_is_told_before_anything_is_asked(
    name: str, value: Any, problem: str
) -> None:
    (line,) = problems(TableSelection(filters={name: value}))
    start = f"school 101, dataset 'scores': campus.yaml, datasets.tables.scores.filters.{name}: "
    assert line.startswith(start) and problem in line


@pytest.mark.parametrize(
    ("wishes", "problem"),
    [
        (TableSelection(fields=("pionts",)), "fields: there is no field 'pionts'; did you mean points?"),
        (TableSelection(fields=("a,b",)), "fields: there is no field 'a,b'"),
        (
            TableSelection(expand=("students",)),
            "expand: there is no relation 'students'; did you mean student?",
        ),
    ],
)
def test_a_name_that_is_not_there_is_told_with_the_nearest(wishes: TableSelection, problem: str) -> None:
    (line,) = problems(wishes)
    assert line == f"school 101, dataset 'scores': campus.yaml, datasets.tables.scores.{problem}"


def test_what_the_interface_cannot_be_asked_for_is_told() -> None:
    relations = [{"name": "n", "ref_name": "students"}, {"name": "lost", "ref_name": "gone"}]
    odd = dataset(field("n", "integer"), field("a,b", "integer"), relations=relations)
    assert [
        line.partition("scores.")[2] for line in problems(TableSelection(("a,b",), ("n", "lost")), odd)
    ] == [
        "fields: 'a,b' has a comma in it, and the interface separates fields by commas",
        "expand: 'n' is the name of a field too, and a row can hold only one of them",
        "expand: 'lost' leads to a dataset 'gone' that the platform does not list",
    ]


def test_every_mistake_is_told_at_once() -> None:
    assert len(problems(TableSelection(("x",), ("y",), {"z": 1, "count_egt": "a", "id_in": 1}))) == 4


def test_a_setting_adds_operators() -> None:
    assert filtered({"count_gt": 5}, extra_operators=("gt",)) == {"count_gt": "5"}
    assert filtered({"count_not_in": (5, 6)}, extra_operators=("not_in",)) == {"count_not_in": "5,6"}


def test_the_own_name_comes_before_a_pattern_and_the_first_pattern_before_the_next() -> None:
    first, second, own = (TableSelection(fields=(name,)) for name in ("count", "points", "day"))
    patterns = {"s*": first, "*": second}
    assert plan_query(Selection(tables=patterns), EVERYTHING, SCHOOL, 1).fields == (
        "id",
        "count",
        "updated_at",
    )
    with_own = Selection(tables={**patterns, "scores": own})
    assert plan_query(with_own, EVERYTHING, SCHOOL, 1).fields == ("id", "day", "updated_at")


def test_a_key_of_several_fields_may_be_filtered_and_is_asked_for_whole() -> None:
    composite = dataset(
        field("a", "integer", primary=True), field("b", "integer", primary=True), field("c", "text")
    )
    query = ask(TableSelection(fields=("c",), filters={"a_egt": 5}), composite)
    assert query.params == {"a_egt": "5", "fields": "a,b,c"}
