"""The detail of one session, in the forms that platforms give it."""

import pytest

from campus.attendance.wire import parse_session
from campus.errors import UnexpectedAnswer


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'{"statistics":null,"list":null}', b'{"statistics":[],"list":[]}']
)
def test_a_session_that_nobody_recorded_is_empty_however_it_is_written(body: bytes) -> None:
    detail = parse_session(body)
    assert detail.statistics is None
    assert (detail.records.rows, detail.records.bad) == ([], [])


@pytest.mark.parametrize("body", [b'{"statistics":[1],"list":[]}', b'{"statistics":"none"}'])
def test_statistics_of_another_kind_are_unexpected(body: bytes) -> None:
    with pytest.raises(UnexpectedAnswer, match="statistics"):
        parse_session(body)
