"""What is asked of reports: an operator's wishes against what the report takes, each mistake in words."""

import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.reports.selection import (
    DateRanges,
    OfferedReport,
    Option,
    Parameter,
    ParameterValue,
    Query,
    ReportRequest,
    ReportSelection,
    ReportSelectionError,
    as_text,
    combination_text,
    plan_requests,
)

GRADE = Parameter(
    "grade", "select", "年级", True, (Option(7, "初一"), Option("08", "初二"), Option(True, "全部"))
)
TERMS = Parameter("terms", "multi-select", "学段", False, (Option("a", "期中"), Option("b", "期末")))
PERIOD = Parameter("period", "date-range", "时间")
KEYWORD = Parameter("keyword", "input", "关键字")
STRANGE = Parameter("strange", "slider")
PARAMETERS = (GRADE, TERMS, PERIOD, KEYWORD, STRANGE)
QUERIES = (Query(501, "汇总"), Query(502, "明细"), Query(503, "明细"), Query(504))
OFFERED = OfferedReport("/v3", PARAMETERS, QUERIES)
NONE_OFFERED = OfferedReport("/v3", (), ())


def ask(offered: OfferedReport = OFFERED, **wishes: Any) -> tuple[ReportRequest, ...]:
    wishes = {"parameters": {"grade": 7}, **wishes}
    return plan_requests(ReportSelection("汇总表", **wishes), offered, 101)


def params(**values: ParameterValue) -> Any:
    """What is sent where these values are given."""
    return ask(queries=(501,), parameters={"grade": 7, **values})[0].params


def problems(offered: OfferedReport = OFFERED, **wishes: Any) -> list[str]:
    """What is told of wishes, without the place where they are written."""
    with pytest.raises(ReportSelectionError) as error:
        ask(offered, **wishes)
    prefix = "school 101, report '汇总表': campus.yaml, reports."
    lines = error.value.message.splitlines()
    assert all(line.startswith(prefix) for line in lines)
    return [line.removeprefix(prefix) for line in lines]


def of(**values: ParameterValue) -> list[str]:
    return problems(parameters={"grade": 7, **values})


def test_every_query_is_asked_where_none_is_named() -> None:
    assert [request.query.id for request in ask()] == [501, 502, 503, 504]
    assert [request.query.id for request in ask(queries=("汇总", 504, "501"))] == [501, 504]


def test_each_combination_of_the_matrix_is_a_question() -> None:
    matrix = {"grade": (7, "08"), "terms": ("a", "b")}
    requests = ask(queries=(501, 502), parameters={"keyword": "x"}, matrix=matrix)
    assert [(request.query.id, request.params) for request in requests] == [
        (query, {"keyword": "x", "grade": grade, "terms": [term]})
        for query in (501, 502)
        for grade in (7, "08")
        for term in ("a", "b")
    ]
    assert requests[1].matrix == {"grade": 7, "terms": "b"}


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("grade", "7", 7),
        ("grade", 7, 7),
        ("grade", "08", "08"),
        ("grade", True, True),
        ("grade", "true", True),
        ("terms", "a", ["a"]),
        ("terms", ("b", "a"), ["b", "a"]),
        ("period", ("2025-09-01", "2025-09-01"), ["2025-09-01", "2025-09-01"]),
        ("keyword", "张", "张"),
        ("keyword", 12, 12),
        ("keyword", 1.5, 1.5),
        ("strange", (1, "x"), [1, "x"]),
        ("strange", True, True),
    ],
)
def test_values_are_sent_as_the_platform_spells_them(name: str, value: ParameterValue, sent: Any) -> None:
    actual = params(**{name: value})[name]
    assert (actual, type(actual)) == (sent, type(sent))


@pytest.mark.parametrize(
    ("form", "sent"),
    [
        ("array", ["2024-02-29", "2025-01-31"]),
        ("text", "2024-02-29,2025-01-31"),
        ("object", {"start": "2024-02-29", "end": "2025-01-31"}),
    ],
)
def test_a_range_of_dates_is_written_as_settings_say(form: DateRanges, sent: object) -> None:
    wishes = {"grade": 7, "period": ("2024-02-29", "2025-01-31")}
    assert ask(queries=(501,), parameters=wishes, date_ranges=form)[0].params["period"] == sent
    by_default = Parameter("period", "date-range", default=["2024-02-29", "2025-01-31"])
    [request] = ask(OfferedReport("/v3", (by_default,), QUERIES[:1]), parameters={}, date_ranges=form)
    assert request.params["period"] == sent


def test_options_that_are_not_listed_leave_any_value() -> None:
    open_choice = OfferedReport("/v3", (Parameter("grade", "select"),), QUERIES)
    assert ask(open_choice, queries=(501,))[0].params == {"grade": 7}


@pytest.mark.parametrize(
    ("kind", "default", "sent"),
    [
        ("select", "7", 7),
        ("select", "archive", "archive"),
        ("select", ["7"], ["7"]),
        ("multi-select", ["7", "08"], [7, "08"]),
        ("multi-select", "7", [7]),
        ("multi-select", ["7", "gone"], ["7", "gone"]),
        ("multi-select", "7,08", "7,08"),
        ("date-range", ["2025-01-01", "2025-02-01"], ["2025-01-01", "2025-02-01"]),
        ("date-range", "this month", "this month"),
        ("date-range", {"start": "2025-01-01"}, {"start": "2025-01-01"}),
        ("input", 0, 0),
        ("slider", {"a": [1]}, {"a": [1]}),
    ],
)
@pytest.mark.parametrize("required", [True, False])
def test_a_default_is_sent_where_nothing_is_given(kind: str, default: Any, sent: Any, required: bool) -> None:
    parameter = Parameter("grade", kind, None, required, GRADE.options, default)
    offered = OfferedReport("/v3", (parameter,), QUERIES)
    assert ask(offered, queries=(501,), parameters={})[0].params == {"grade": sent}


@pytest.mark.parametrize("nothing", [None, "", []])
def test_where_there_is_no_default_either_only_a_required_one_is_missed(nothing: Any) -> None:
    def missing(required: bool) -> OfferedReport:
        return OfferedReport(
            "/v3", (Parameter("grade", "select", "年级", required, GRADE.options, nothing),), QUERIES
        )

    assert ask(missing(False), queries=(501,), parameters={})[0].params == {}
    assert problems(missing(True), parameters={}) == [
        "parameters.grade: a value is required (年级), and there is no default; "
        "choose from 7 (初一), 08 (初二), true (全部)"
    ]


@pytest.mark.parametrize(
    ("wishes", "problem"),
    [
        ({"keyword": True}, "keyword: expected text or a number"),
        ({"keyword": ("a", "b")}, "keyword: expected one value, not a list"),
        ({"grade": (7,)}, "grade: expected one value, not a list"),
        ({"grade": "初一"}, "grade: '初一' is the label of an option; its key is 7"),
        ({"grade": "初二"}, "grade: '初二' is the label of an option; its key is '08'"),
        (
            {"grade": 8},
            "grade: there is no option '8'; did you mean 08?; choose from 7 (初一), 08 (初二), true (全部)",
        ),
        ({"terms": ()}, "terms: expected at least one value; choose from a (期中), b (期末)"),
        ({"terms": ("a", "c")}, "terms: there is no option 'c'; choose from a (期中), b (期末)"),
        ({"period": "2025-09-01"}, "period: expected two dates, the first and the last day, as YYYY-MM-DD"),
        (
            {"period": ("2025-09-01",)},
            "period: expected two dates, the first and the last day, as YYYY-MM-DD",
        ),
        (
            {"period": ("2025-02-29", "2025-03-01")},
            "period: expected two dates, the first and the last day, as YYYY-MM-DD",
        ),
        (
            {"period": ("20250201", "2025-03-01")},
            "period: expected two dates, the first and the last day, as YYYY-MM-DD",
        ),
        (
            {"period": ("2025-09-02", "2025-09-01")},
            "period: the first day, 2025-09-02, is after the last, 2025-09-01",
        ),
        ({"年级": 7}, "年级: '年级' is the label of a parameter; its name is grade"),
        (
            {"grades": 7},
            "grades: there is no such parameter; did you mean grade?; there is "
            "grade (年级), terms (学段), period (时间), keyword (关键字), strange",
        ),
    ],
)
def test_what_a_parameter_cannot_have_is_told(wishes: dict[str, ParameterValue], problem: str) -> None:
    assert of(**wishes) == [f"parameters.{problem}"]


@pytest.mark.parametrize(
    ("queries", "problem"),
    [
        (("明细",), "queries: '明细' is the label of 502, 503: give an id"),
        (
            ("汇总表",),
            "queries: there is no query '汇总表'; did you mean 汇总?; "
            "there is 501 (汇总), 502 (明细), 503 (明细), 504",
        ),
        ((7,), "queries: there is no query '7'; there is 501 (汇总), 502 (明细), 503 (明细), 504"),
    ],
)
def test_a_query_that_is_not_there_is_told(queries: tuple[Any, ...], problem: str) -> None:
    assert problems(queries=queries) == [problem]


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        ({"grade": (7,)}, "grade: it is one of the parameters too, and can be only one of both"),
        ({"terms": ()}, "terms: expected at least one value"),
        ({"terms": ("a", "b", "a")}, "terms: 'a' is there twice"),
        ({"keyword": (7, "7")}, "keyword: '7' is there twice"),
        ({"terms": ("期中",)}, "terms: '期中' is the label of an option; its key is 'a'"),
        (
            {"period": ("2025-09-01",)},
            "period: a date range is two dates, and each combination of a matrix has one value of it",
        ),
        (
            {"term": ("a",)},
            "term: there is no such parameter; did you mean terms?; there is "
            "grade (年级), terms (学段), period (时间), keyword (关键字), strange",
        ),
    ],
)
def test_what_a_matrix_cannot_have_is_told(matrix: dict[str, Any], problem: str) -> None:
    assert problems(matrix=matrix) == [f"matrix.{problem}"]


def test_all_mistakes_are_told_at_once() -> None:
    messages = problems(
        queries=(1, 2), parameters={"terms": "c", "other": 1}, matrix={"period": ("x",), "keyword": (True,)}
    )
    places = ["queries", "queries", "parameters.terms", "parameters.other", "matrix.period", "matrix.keyword"]
    assert [line.split(":")[0] for line in messages] == [*places, "parameters.grade"]


def test_a_report_without_queries_or_parameters_is_told() -> None:
    assert problems(NONE_OFFERED) == [
        "queries: the report has no queries",
        "parameters.grade: the report takes no parameters",
    ]


def test_long_lists_of_options_are_cut() -> None:
    many = Parameter("grade", "select", options=tuple(Option(number) for number in range(30)))
    [message] = problems(OfferedReport("/v3", (many,), QUERIES), parameters={"grade": "x"})
    assert message.endswith("choose from " + ", ".join(map(str, range(20))) + " and 10 more")


scalars = st.one_of(st.text(max_size=4), st.integers(), st.floats(allow_nan=False), st.booleans())


@settings(max_examples=60, deadline=None)
@given(st.lists(scalars, min_size=1, max_size=5, unique_by=as_text), st.data())
def test_every_option_is_chosen_by_its_key_however_that_is_spelt(keys: list[Any], data: Any) -> None:
    offered = OfferedReport(
        "/v3", (Parameter("p", "multi-select", options=tuple(map(Option, keys))),), QUERIES
    )
    chosen = data.draw(st.lists(st.sampled_from(keys), min_size=1))
    spelling = tuple(as_text(key) if data.draw(st.booleans()) else key for key in chosen)
    [request] = ask(offered, queries=(504,), parameters={"p": spelling})
    assert json.dumps(request.params) == json.dumps({"p": chosen})


matrices = st.dictionaries(st.text(max_size=4), scalars, max_size=3)


@settings(max_examples=60, deadline=None)
@given(matrices, matrices)
def test_each_combination_has_a_text_of_its_own_that_separates_nothing(
    matrix: dict[str, Any], other: dict[str, Any]
) -> None:
    text = combination_text(matrix)
    assert not set(text) & set("|,\"'/\\ \n")
    pairs = [tuple(map(unquote, pair.split("="))) for pair in text.split("&")] if matrix else []
    assert pairs == sorted((name, as_text(value)) for name, value in matrix.items())
    same = {name: as_text(value) for name, value in matrix.items()} == {
        name: as_text(value) for name, value in other.items()
    }
    assert (combination_text(other) == text) == same
    assert combination_text(dict(reversed(matrix.items()))) == text


def test_a_combination_reads_as_it_is_written() -> None:
    assert combination_text({"学期": "2025上", "grade": 7}) == "grade=7&学期=2025上"
    assert combination_text({"a|b": "x,y"}) == "a%7Cb=x%2Cy"
    assert combination_text({}) == ""
