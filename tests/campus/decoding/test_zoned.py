"""Moments with a zone: a column at a time becomes just what one at a time becomes."""

import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campus.account import Drift
from campus.decoding import columnar
from campus.decoding.columnar import decode_records
from campus.decoding.inferred_contract import contract_of
from tests.kits.platforms.datasets_made import dataset, field

CONTRACT = contract_of(
    dataset(
        field("id", "integer", primary=True),
        field("created_at", "timestamp"),
        field("a b", "timestamp"),
        field("note", "string"),
    )
)
ZONES = [dt.UTC, *(dt.timezone(dt.timedelta(hours=h, minutes=m)) for h, m in ((8, 0), (-3, -30), (5, 45)))]


def form_of(moment: dt.datetime, form: str) -> str:
    match form:
        case "Z":
            return moment.replace(tzinfo=None).isoformat() + "Z"
        case " ":
            return moment.isoformat(" ")
    return moment.isoformat()


simple = st.builds(
    form_of,
    st.datetimes(dt.datetime(1992, 1, 2), dt.datetime(9998, 1, 1), timezones=st.sampled_from(ZONES)),
    st.sampled_from(["T", "Z", " "]),
)
odd = st.one_of(
    st.builds(form_of, st.datetimes(timezones=st.sampled_from(ZONES)), st.sampled_from(["T", "Z"])),
    st.sampled_from(
        [
            "2025-03-01 10:00:00",
            "2025-03-01",
            "2025-03-01T10:00:00.1234567Z",
            "2025-03-01T10:00Z",
            "2025-03-01T10:00:00+0800",
            "2025-03-01t10:00:00z",
            "2025-02-30T10:00:00Z",
            "2025-03-01T24:00:00Z",
            "2025-03-01T23:59:60Z",
            "2025-03-01T10:00:00+24:00",
            "1991-07-01T00:00:00Z",
            "1900-01-01T00:00:00Z",
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:00:00Z",
            "２025-03-01T10:00:00Z",
            "",
        ]
    ),
)
moments = st.one_of(st.none(), simple)
rows = st.fixed_dictionaries({"id": st.integers(1, 99), "created_at": moments, "a b": moments})
odd_rows = st.fixed_dictionaries(
    {"id": st.integers(1, 99)}, optional={"a b": st.one_of(odd, moments), "created_at": odd, "new": st.none()}
)


def both_ways(text: str) -> tuple[Any, Any]:
    page = text.encode()
    return decode_records(page, CONTRACT, ("id",)), columnar._decode_slowly(page, CONTRACT)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(rows, odd_rows), min_size=1, max_size=5))
@example([{"id": 1, "created_at": "2025-03-01T10:00:00Z", "a b": "2025-03-01 10:00:00"}])
def test_a_column_becomes_what_each_moment_becomes(page: list[dict[str, Any]]) -> None:
    quick, slow = both_ways(json.dumps(page))
    assert quick.batch.equals(slow.batch)
    assert (quick.bad, quick.drift) == (slow.bad, slow.drift)


@settings(max_examples=60, deadline=None)
@given(st.lists(rows, min_size=1, max_size=5))
def test_the_usual_forms_are_taken_a_column_at_a_time(page: list[dict[str, Any]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columnar, "_decode_slowly", lambda *_: pytest.fail("one at a time"))
        records = decode_records(json.dumps(page).encode(), CONTRACT, ("id",))
    for sent, row in zip(page, records.batch.to_pylist(), strict=True):
        extra = json.loads(row["_extra"]) if row["_extra"] else {}
        for name, column in (("created_at", "created_at"), ("a b", "a_b")):
            assert extra.get(name) == sent[name]
            if sent[name] is None:
                assert row[column] is None
            else:
                moment = dt.datetime.fromisoformat(sent[name])
                assert row[column] == (moment.astimezone(dt.UTC) + dt.timedelta(hours=8)).replace(tzinfo=None)
    zoned = sum(row["created_at"] is not None for row in page)
    assert records.drift[Drift("zoned_timestamp", "created_at")] == zoned


def test_what_is_kept_verbatim_is_so_where_it_was_escaped() -> None:
    quick, slow = both_ways('[{"id":1,"created_at":"2025\\u002d03-01T10:00:00Z","a b":null,"note":null}]')
    assert quick.batch.equals(slow.batch)
    assert "\\u002d" in quick.batch.to_pylist()[0]["_extra"]
