"""Records of reports, from platforms with habits of their own."""

import asyncio
import datetime as dt
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.account import Account, Drift
from campus.contracts.fields import Contract
from campus.contracts.fields import fields as fields_of
from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.http.errors import CampusError, Forbidden, Refused, Transient, UnexpectedAnswer
from campus.registry import REPORT_FIELDS
from campus.reports.records import ReportRecords, read_records
from campus.reports.selection import Query, ReportRequest
from campus.sources.gathered import Collector
from tests.kits.platforms.reports_made import REPORT, field, fields, page, params_of, platform_of
from tests.kits.platforms.scripted_platform import Platform, Request, answer

QUESTION = ReportRequest(Query(501, "汇总"), {"grade": 7, "terms": ["a,b", "期末"]}, {"grade": 7})


@dataclass
class Found:
    """What a reading came to."""

    account: Account
    contract: type[Contract]
    rows: list[dict[str, Any]]
    fields: list[dict[str, Any]]
    of_fields: Account
    asked: list[Request]


def found(
    records: Callable[[Request], bytes], scratch: Path, question: ReportRequest = QUESTION, **settings: Any
) -> Found:
    """What is read of query 501 of a platform that answers so."""
    described: list[pa.RecordBatch] = []
    collector = Collector(REPORT_FIELDS, "", described.append)

    async def ask() -> tuple[ReportRecords, list[pa.RecordBatch], list[Request]]:
        async with (
            Platform(platform_of(records)) as platform,
            Client(platform.config(max_attempts=2, **settings), [REPORT_FIELDS.scopes]) as client,
        ):
            reader = Reader(client, 101, REPORT_FIELDS.scopes)
            async with read_records(reader, "/v3", REPORT, question, collector, scratch) as read:
                return read, [*read.batches], platform.gets

    read, batches, asked = asyncio.run(ask())
    assert list(scratch.iterdir()) == []
    return Found(
        read.account,
        read.contract,
        [row for batch in batches for row in batch.to_pylist()],
        [row for batch in described for row in batch.to_pylist()],
        collector.account,
        asked,
    )


def test_each_kind_has_its_type_and_every_value_is_exact(tmp_path: Path) -> None:
    kinds = fields(
        n="int",
        ratio="float",
        平均分="decimal",
        name="string",
        remark="text",
        day="date",
        at="timestamp",
        level="enum",
        files="attachment",
        place="geometry",
        idcard="string",
    )
    row = {
        "n": 2**63 - 1,
        "ratio": 0.1,
        "平均分": "12345678901234567890.000000000000000001",
        "name": "张伟",
        "remark": "=1+1",
        "day": "2025-09-01",
        "at": "2025-09-01 08:00:00",
        "level": "A",
        "files": [{"name": "a.pdf", "url": "https://x/a.pdf", "idcard": "310"}],
        "place": {"x": 1.10},
        "idcard": "310101199901011234",
    }
    seen = found(
        lambda request: page(request, kinds, [row, {"n": None, "files": "https://x/b.pdf"}]), tmp_path
    )
    assert {column.name: str(column.arrow_type) for column in fields_of(seen.contract)} == {
        "n": "int64",
        "ratio": "double",
        "平均分": "decimal128(38, 18)",
        "name": "string",
        "remark": "string",
        "day": "date32[day]",
        "at": "timestamp[us]",
        "level": "string",
        "files": "string",
        "place": "string",
        "idcard": "string",
    }
    first, second = seen.rows
    assert first == {
        "n": 2**63 - 1,
        "ratio": 0.1,
        "平均分": Decimal("12345678901234567890.000000000000000001"),
        "name": "张伟",
        "remark": "=1+1",
        "day": dt.date(2025, 9, 1),
        "at": dt.datetime(2025, 9, 1, 8),
        "level": "A",
        "files": '[{"name":"a.pdf","url":"https://x/a.pdf"}]',
        "place": '{"x": 1.1}',
        "idcard": None,
        "_extra": None,
    }
    assert second == dict.fromkeys(first) | {"files": "https://x/b.pdf"}
    assert seen.account.drift == {
        Drift("unknown_type", "place", "geometry"): 1,
        Drift("withheld_identity_number", "idcard"): 1,
        Drift("withheld_identity_number", "files.idcard"): 1,
    }
    assert "310" not in str(seen.rows)


MARKS = fields(name="string", mark="int")


def marks(*values: int) -> list[dict[str, Any]]:
    return [{"name": f"s{value}", "mark": value} for value in values]


def read_values(seen: Found) -> list[int]:
    return [row["mark"] for row in seen.rows]


def test_parameters_are_sent_as_json_text_and_none_as_nothing(tmp_path: Path) -> None:
    seen = found(lambda request: page(request, MARKS, marks(1)), tmp_path)
    assert [params_of(request) for request in seen.asked] == [{"grade": 7, "terms": ["a,b", "期末"]}]
    seen = found(lambda request: page(request, MARKS, marks(1)), tmp_path, ReportRequest(Query(501), {}, {}))
    assert ["params" in request.query for request in seen.asked] == [False]


def test_what_does_not_fit_a_page_is_asked_for_at_once(tmp_path: Path) -> None:
    seen = found(lambda request: page(request, MARKS, marks(*range(25))), tmp_path, per_page=10)
    assert read_values(seen) == [*range(25)]
    assert [request.query.get("paginated") for request in seen.asked] == [None, "0"]
    assert (seen.account.complete, seen.account.server_total) == (True, 25)
    assert (seen.account.received, seen.account.tally.pages) == (25, 2)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 4), max_size=30), st.integers(2, 9), st.booleans())
def test_pages_are_read_to_the_end_and_rows_that_are_alike_each_count(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], per_page: int, counted: bool
) -> None:
    seen = found(
        lambda request: page(request, MARKS, marks(*values), total=-1 if counted else None, unpaged=False),
        tmp_path_factory.mktemp("scratch"),
        per_page=per_page,
    )
    if seen.account.complete:
        assert Counter(read_values(seen)) == Counter(values)
    # Where all rows are one and the same, pages cannot be told from one that is shown again and again.
    assert seen.account.complete or not counted or len(set(values)) == 1


def test_fewer_rows_than_the_platform_counts_are_told(tmp_path: Path) -> None:
    seen = found(lambda request: page(request, MARKS, marks(1, 2, 3), total=5), tmp_path)
    assert not seen.account.complete
    assert seen.account.proofs == ["the platform counts 5 rows but shows 3"]


def test_fields_that_change_while_pages_are_read_make_another_reading(tmp_path: Path) -> None:
    answers = iter([MARKS])

    def records(request: Request) -> bytes:
        described = next(answers, fields(name="string", mark="int", rank="int"))
        return page(
            request, described, [marks_row | {"rank": 1} for marks_row in marks(*range(15))], unpaged=False
        )

    seen = found(records, tmp_path, per_page=10)
    assert read_values(seen) == [*range(15)]
    assert [row["name"] for row in seen.fields] == ["name", "mark", "rank"]
    assert {row["rank"] for row in seen.rows} == {1}


def test_fields_that_never_stay_the_same_are_told_and_nothing_is_written(tmp_path: Path) -> None:
    def records(request: Request) -> bytes:
        number = request.query.get("page", "0")
        return page(request, [*MARKS, field(f"of page {number}", "int")], marks(*range(15)))

    with pytest.raises(UnexpectedAnswer, match="school 101: its fields changed while it was read, 3 times"):
        found(records, tmp_path, per_page=10)


@pytest.mark.parametrize(
    "nothing",
    [
        answer({"fields": MARKS, "rows": []}, x_pagination_total_count="0"),
        answer({"fields": MARKS, "rows": None}),
        answer({"fields": MARKS}),
    ],
)
def test_no_rows_are_a_result_with_its_fields(tmp_path: Path, nothing: bytes) -> None:
    seen = found(lambda request: nothing, tmp_path)
    assert [column.name for column in fields_of(seen.contract)] == [
        "name",
        "mark",
    ]
    assert (seen.account.received, seen.account.complete, seen.rows) == (0, True, [])
    assert [row["name"] for row in seen.fields] == ["name", "mark"]


@pytest.mark.parametrize("nothing", [{"fields": [], "rows": []}, [], None, {}])
def test_no_rows_and_no_fields_are_a_result_too(tmp_path: Path, nothing: object) -> None:
    seen = found(lambda request: answer(nothing), tmp_path)
    assert fields_of(seen.contract) == ()
    assert (seen.account.complete, seen.rows, seen.fields) == (True, [], [])


def test_no_rows_may_come_with_their_fields_on_the_first_page_alone(tmp_path: Path) -> None:
    answers = iter([answer({"fields": MARKS, "rows": []})])
    seen = found(lambda request: next(answers, answer({"fields": [], "rows": []})), tmp_path)
    assert len(seen.asked) > 1
    assert (len(seen.fields), seen.account.complete) == (2, True)


def test_a_page_past_the_end_may_leave_the_fields_out(tmp_path: Path) -> None:
    def records(request: Request) -> bytes:
        rows = marks(*range(15))
        past_the_end = int(request.query.get("page", 1)) > 2
        return page(request, [] if past_the_end else MARKS, rows, total=None, unpaged=False)

    seen = found(records, tmp_path, per_page=10)
    assert (read_values(seen), seen.account.complete) == ([*range(15)], True)
    assert len(seen.fields) == 2


def test_fields_are_told_with_what_they_belong_to(tmp_path: Path) -> None:
    pivot = [
        field(
            "g7",
            "decimal",
            label="平均分",
            label_in_path=["2025", "初一", "平均分"],
            is_dynamic=True,
            position=2,
        ),
        field("name", "string", label="姓名", label_in_path=None, position=1),
        field("odd", "int", position="third"),
        "no field",
    ]
    seen = found(lambda request: page(request, pivot, [{"name": "x", "g7": "1.50", "odd": 3}]), tmp_path)
    common = {"report": REPORT, "query_id": 501, "params": "grade=7"}
    assert [
        {name: row[name] for name in (*common, "name", "label_in_path", "is_dynamic")} for row in seen.fields
    ] == [
        {**common, "name": "g7", "label_in_path": ["2025", "初一", "平均分"], "is_dynamic": True},
        {**common, "name": "name", "label_in_path": None, "is_dynamic": False},
        {**common, "name": "odd", "label_in_path": ["odd"], "is_dynamic": False},
    ]
    # What cannot be told of a field does not keep its values out.
    assert [bad.raw for bad in seen.of_fields.bad] == ['"no field"']
    assert seen.of_fields.drift[Drift("unreadable_value", "position")] == 1
    assert seen.rows == [{"name": "x", "g7": Decimal("1.50"), "odd": 3, "_extra": None}]
    assert [*seen.account.drift] == [Drift("unreadable_definition", "fields[3]")]
    comments = {column.name: column.description for column in fields_of(seen.contract)}
    assert comments == {"name": "姓名", "g7": "2025 / 初一 / 平均分", "odd": "odd"}


def test_a_value_that_does_not_fit_is_set_aside_and_its_row_loads(tmp_path: Path) -> None:
    body = json.dumps({"fields": MARKS, "rows": []})[:-2].encode()
    rows = b"""{"name":"a","mark":1}, {"name":"b","mark":1.5}, {"name":"\\ud83d","mark":2},
        {"name":"c","mark":3,"x":1}]}"""
    seen = found(lambda request: answer(body + rows), tmp_path)
    assert read_values(seen) == [1, None, 2, 3]
    extras = [json.loads(row["_extra"]) if row["_extra"] else None for row in seen.rows]
    assert extras == [None, {"mark": 1.5}, {"name": r'"\ud83d"'}, {"x": 1}]
    assert (seen.account.bad, seen.account.received) == ([], 4)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (
            answer({"message": "参数错误"}, 422),
            Refused,
            r'参数错误.*params were: {"grade":7,"terms":\["a,b","期末"\]}',
        ),
        (answer({}, 403), Forbidden, "reporting.read_all"),
        (answer({"rows": [{"mark": 1}]}), UnexpectedAnswer, "does not say what their fields are"),
        (answer([{"mark": 1}]), UnexpectedAnswer, "expected an object"),
        (answer({"fields": MARKS, "rows": {"mark": 1}}), UnexpectedAnswer, "expected a list of rows"),
        (answer(b'{"fields": [], "ro'), Transient, "torn"),
    ],
)
def test_what_goes_wrong_is_told_and_nothing_is_written(
    tmp_path: Path, reply: bytes, kind: type[CampusError], words: str
) -> None:
    with pytest.raises(kind, match=words) as error:
        found(lambda request: reply, tmp_path)
    assert "/queries/501/records for school 101" in str(error.value)


def test_what_is_null_may_be_left_out_and_is_no_drift(tmp_path: Path) -> None:
    seen = found(lambda request: page(request, MARKS, [{"name": "a"}, {"mark": 2}]), tmp_path)
    assert (read_values(seen), seen.account.drift) == ([None, 2], {})


def test_a_later_page_may_leave_the_fields_out(tmp_path: Path) -> None:
    def records(request: Request) -> bytes:
        is_first = request.query.get("page") == "1"
        return page(request, MARKS if is_first else None, marks(*range(15)), unpaged=False)

    seen = found(records, tmp_path, per_page=10)
    assert (read_values(seen), seen.account.complete, len(seen.fields)) == ([*range(15)], True, 2)


def test_a_page_size_that_is_refused_is_not_asked_for_again(tmp_path: Path) -> None:
    def records(request: Request) -> bytes:
        if int(request.query["per_page"]) > 200:
            return answer({"message": "per_page"}, 422)
        return page(request, MARKS, marks(1))

    async def ask() -> int:
        async with (
            Platform(platform_of(records)) as platform,
            Client(platform.config(), [REPORT_FIELDS.scopes]) as client,
        ):
            for _ in range(2):
                collector = Collector(REPORT_FIELDS)
                reader = Reader(client, 101, REPORT_FIELDS.scopes)
                async with read_records(reader, "/v3", REPORT, QUESTION, collector, tmp_path) as read:
                    assert sum(batch.num_rows for batch in read.batches) == 1
            return len(platform.gets)

    assert asyncio.run(ask()) == 4
