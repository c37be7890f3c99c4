"""What a platform may put around an answer: the content comes out, and a refusal is one."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.http.envelope import ABOUT, CONTENT, open_envelope

ROWS = [{"id": 1, "code": "A-1"}]


@pytest.mark.parametrize(
    "body",
    [
        ROWS,
        {"data": ROWS},
        {"list": ROWS, "total": 1},
        {"code": 0, "message": "ok", "data": ROWS},
        {"success": True, "data": {"items": ROWS, "total": 1, "page": 1}},
        {"code": 1, "data": ROWS},
        {"data": ROWS, "_links": {}},
    ],
)
def test_rows_come_out_of_any_envelope(body: Any) -> None:
    status, content = open_envelope(200, b"\xef\xbb\xbf \n" + json.dumps(body).encode())
    assert (status, json.loads(content)) == (200, ROWS)


@pytest.mark.parametrize("empty", [[], None, {}])
@pytest.mark.parametrize(
    "about", [{}, {"code": 0}, {"code": "200"}, {"code": 1, "msg": "success"}, {"ok": True}]
)
def test_nothing_comes_out_as_nothing(empty: Any, about: dict[str, Any]) -> None:
    status, content = open_envelope(200, json.dumps({**about, "data": empty}).encode())
    assert (status, json.loads(content)) == (200, empty)


@pytest.mark.parametrize(
    "body",
    [
        {"statistics": {"normal": 1}, "list": ROWS},
        {"fields": [], "rows": ROWS},
        {"rows": ROWS},
        {"days": [], "lessons": []},
        {"id": 1, "status": "archived", "list": ROWS},
        {"access_token": "t", "code": 0, "expires_in": 60},
        {},
    ],
)
def test_an_object_that_is_the_answer_stays_whole(body: dict[str, Any]) -> None:
    status, content = open_envelope(200, json.dumps(body).encode())
    assert (status, json.loads(content)) == (200, body)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"code": 403, "message": "no scope", "data": None}, 403),
        ({"code": 40301, "message": "no scope"}, 403),
        ({"errcode": "401", "errmsg": "expired", "data": []}, 401),
        ({"code": 429, "msg": "slow down", "data": {}}, 429),
        ({"code": 1001, "message": "bad parameter", "data": None}, 422),
        ({"success": False, "message": "no"}, 422),
        ({"status": "error", "message": "no", "data": None}, 422),
    ],
)
def test_a_refusal_inside_an_answer_is_one(body: dict[str, Any], status: int) -> None:
    text = json.dumps(body).encode()
    assert open_envelope(200, text) == (status, text)


def test_a_refusal_by_status_keeps_its_body() -> None:
    assert open_envelope(404, b'{"code": 0, "data": []}') == (404, b'{"code": 0, "data": []}')


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=5))
def test_a_list_is_never_taken_for_an_envelope(rows: list[Any]) -> None:
    body = msgspec.json.encode(rows)
    assert open_envelope(200, body) == (200, body)


@given(st.dictionaries(st.text(max_size=8) | st.sampled_from([*CONTENT, *ABOUT]), json_values), json_values)
def test_a_row_with_a_field_of_its_own_is_never_taken_apart(row: dict[str, Any], value: Any) -> None:
    body = msgspec.json.encode({**row, "usin": value})
    assert "usin" not in ABOUT.union(CONTENT)
    assert open_envelope(200, body) == (200, body)
