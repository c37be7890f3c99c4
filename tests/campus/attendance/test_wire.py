"""The detail of one session, in the forms that platforms give it."""

import pytest

from campus.attendance.requests import parse_session, records_of_session
from campus.http.errors import UnexpectedAnswer


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'{"statistics":null,"list":null}', b'{"statistics":[],"list":[]}']
)
def test_a_session_that_nobody_recorded_is_empty_however_it_is_written(body: bytes) -> None:
    detail = parse_session(body)
    assert detail.statistics is None
    assert (detail.records.rows, detail.records.bad) == ([], [])


@pytest.mark.parametrize(
    ("sent", "who"),
    [
        (b'{"usin":"000007"}', (7, "000007")),
        (b'{"id":4,"rid":8,"usin":"000007"}', (8, "000008")),
        (b'{"id":9,"usin":"000009"}', (9, "000009")),
        (b'{"usin":"000009"}', (None, "000009")),
        (b'{"id":4,"reflection":{"id":"8","usin":"x"}}', (8, "000008")),
        (b'{"reflection":{"usin":"000007"}}', (7, "000007")),
        (b'{"id":8,"reflection":{"id":"x"}}', (8, "000008")),
        (b'{"id":8,"reflection":[]}', (8, "000008")),
        (b"{}", (None, None)),
    ],
)
def test_a_student_is_known_by_id_or_else_by_number(sent: bytes, who: tuple[int | None, str | None]) -> None:
    page = parse_session(b'{"list":[{"id":1,"student":%b}]}' % sent).records
    [row] = records_of_session(page, 3, {7: "000007", 8: "000008"}, {"000007": 7, "000008": 8}).rows
    assert (row.student_id, row.usin) == who


@pytest.mark.parametrize("body", [b'{"statistics":[1],"list":[]}', b'{"statistics":"none"}'])
def test_statistics_of_another_kind_are_unexpected(body: bytes) -> None:
    with pytest.raises(UnexpectedAnswer, match="statistics"):
        parse_session(body)
