"""What a report takes and offers, from platforms with habits of their own."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from campus.account import Account
from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.http.errors import CampusError, Forbidden, Transient
from campus.registry import REPORT_PARAMETERS, REPORT_QUERIES
from campus.reports.metadata import UnknownReport, read_report
from campus.reports.selection import OfferedReport, Option, Parameter, Query
from campus.sources.gathered import Collector
from tests.kits.platforms.reports_made import GRADE, PATH, QUERIES, REPORT, platform_of
from tests.kits.platforms.scripted_platform import Platform, Request, answer

Rows = list[dict[str, Any]]


def offered(
    on_get: Callable[[Request], bytes], report: str = REPORT
) -> tuple[OfferedReport, Rows, Rows, list[Account]]:
    """What a platform offers that answers so; the rows of parameters and of queries, and their accounts."""
    parameters: list[pa.RecordBatch] = []
    queries: list[pa.RecordBatch] = []
    collectors = [
        Collector(REPORT_PARAMETERS, "", parameters.append),
        Collector(REPORT_QUERIES, "", queries.append),
    ]

    async def ask() -> OfferedReport:
        async with (
            Platform(on_get) as platform,
            Client(platform.config(max_attempts=2), [REPORT_QUERIES.scopes]) as client,
        ):
            return await read_report(Reader(client, 101, REPORT_QUERIES.scopes), report, *collectors)

    offer = asyncio.run(ask())
    of_parameters, of_queries = (
        [row for batch in batches for row in batch.to_pylist()] for batches in (parameters, queries)
    )
    return offer, of_parameters, of_queries, [collector.account for collector in collectors]


def nothing(request: Request) -> bytes:
    raise AssertionError("records were asked for")


def test_what_a_report_takes_and_offers() -> None:
    terms = {
        "type": "multi-select",
        "name": "terms",
        "label": None,
        "required": None,
        "options": [{"key": "a", "label": "甲"}, {"key": True}, {"label": "no key"}, "no option"],
        "default_value": ["a"],
    }
    offer, parameters, queries, accounts = offered(platform_of(nothing, parameters=[GRADE, terms]))
    assert offer.prefix == "/v3"
    assert offer.queries == (Query(501, "汇总"), Query(502, "明细"))
    assert offer.parameters == (
        Parameter("grade", "select", "年级", True, (Option(7, "初一"), Option(8, "初二"))),
        Parameter("terms", "multi-select", None, False, (Option("a", "甲"), Option(True)), ["a"]),
    )
    assert [(row["report"], row["id"], row["report_id"]) for row in queries] == [
        (REPORT, 501, 12),
        (REPORT, 502, 12),
    ]
    row, odd = parameters
    assert row["options"] == [{"key": "7", "label": "初一"}, {"key": "8", "label": "初二"}]
    assert (row["report"], row["name"], row["required"], row["default_value"]) == (
        REPORT,
        "grade",
        True,
        None,
    )
    # Options that the table cannot hold can be chosen all the same, and are in `_extra`.
    assert (odd["name"], odd["options"]) == (
        "terms",
        [{"key": "a", "label": "甲"}, {"key": "true", "label": None}, {"key": None, "label": "no key"}],
    )
    assert json.loads(odd["_extra"])["options"] == terms["options"]
    assert accounts[0].bad == []


def test_what_makes_no_sense_is_left_out_and_told() -> None:
    odd = [{"id": "501"}, {"label": "x"}, [], QUERIES[0]]
    offer, _, queries, accounts = offered(
        platform_of(nothing, queries=odd, parameters=[{"name": ""}, {"name": 1}])
    )
    assert (offer.queries, offer.parameters) == ((Query(501, "汇总"),), ())
    assert ([row["id"] for row in queries], len(accounts[1].bad)) == ([501, 501], 2)


def test_several_values_by_default_are_kept_as_a_list() -> None:
    both = [GRADE | {"default_value": ["7", "8"]}, GRADE | {"name": "other", "default_value": "7"}]
    _, parameters, _, _ = offered(platform_of(nothing, parameters=both))
    assert [row["default_value"] for row in parameters] == ['["7", "8"]', "7"]


def test_a_report_without_parameters_may_answer_404_for_them() -> None:
    def on_get(request: Request) -> bytes:
        return answer(QUERIES) if request.path == f"{PATH}/queries" else answer({}, 404)

    offer, parameters, queries, _ = offered(on_get)
    assert (offer.parameters, parameters, len(queries)) == ((), [], 2)


@pytest.mark.parametrize("prefix", ["/v3", "/api/v3"])
@pytest.mark.parametrize(
    "other", [answer(b"<html>", content_type="text/html"), answer({}), answer({}, 401), answer({}, 422)]
)
def test_the_prefix_is_the_one_that_lists_whatever_the_other_answers(prefix: str, other: bytes) -> None:
    serve = platform_of(nothing)

    def on_get(request: Request) -> bytes:
        if not request.path.startswith(f"{prefix}/reporting"):
            return other
        return serve(Request("GET", request.target.removeprefix(prefix.removesuffix("/v3")), {}, b""))

    offer, *_ = offered(on_get)
    assert (offer.prefix, len(offer.queries), len(offer.parameters)) == (prefix, 2, 1)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (answer({}, 404), UnknownReport, "school 101 has no report '学生 汇总/1'. Check its name or id"),
        (
            answer({"message": "没有这个报表"}, 422),
            UnknownReport,
            "no report.*: GET .* status 422.*没有这个报表",
        ),
        (answer({}, 403), Forbidden, "reporting.read_all"),
        (answer({}, 500), Transient, "500"),
    ],
)
def test_a_report_that_cannot_be_read_is_told_and_adds_nothing(
    reply: bytes, kind: type[CampusError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        offered(lambda request: reply)


def test_a_list_that_says_it_has_more_is_read_to_the_end() -> None:
    many = [{"id": number, "label": f"q{number}"} for number in range(45)]

    def on_get(request: Request) -> bytes:
        if not request.path.endswith("/queries"):
            return answer([])
        size, page = int(request.query.get("per_page", 20)), int(request.query.get("page", 1))
        shown = many if request.query.get("paginated") == "0" else many[(page - 1) * size : page * size]
        return answer(shown, x_pagination_total_count="45")

    offer, _, rows, (_, account) = offered(on_get)
    assert (len(offer.queries), len(rows)) == (45, 45)
    assert (account.server_total, account.complete) == (45, True)
