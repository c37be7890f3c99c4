"""Which answers are asked for again, and after how long."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.http.retry import backoff, fault_of, http_date, retry_after

NOW = datetime(2025, 3, 1, 2, 0, 0, tzinfo=UTC)
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("status", [408, 429, 500, 501, 502, 503, 504, 599])
def test_overload_and_server_faults_are_asked_again(status: int) -> None:
    assert fault_of(status, JSON, b"{}") == f"status {status}"


@pytest.mark.parametrize("status", [200, 204, 301, 302, 304, 400, 401, 403, 404, 409, 422])
def test_other_answers_are_final(status: int) -> None:
    assert fault_of(status, JSON, b'{"message": "no"}') is None


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"content-type": "text/html; charset=utf-8"}, b"down for maintenance"),
        ({}, b" \n\t<!doctype html><title>Login</title>"),
        (JSON, b"<html>"),
    ],
)
def test_an_html_page_with_status_200_is_asked_again(headers: dict[str, str], body: bytes) -> None:
    assert fault_of(200, headers, body) == "an HTML page with status 200"


@pytest.mark.parametrize("body", [b"[]", b' {"id": 1}', b"\xef\xbb\xbf[]", b"null"])
def test_json_that_calls_itself_html_is_no_page(body: bytes) -> None:
    assert fault_of(200, {"content-type": "text/html; charset=utf-8"}, body) is None


def test_an_html_page_with_a_final_status_stays_final() -> None:
    assert fault_of(404, {"content-type": "text/html"}, b"<html>") is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),
        ("Sat, 01 Mar 2025 10:01:00 +0800", 60.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_as_seconds_and_as_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


@given(st.text(max_size=30))
def test_no_retry_after_header_breaks_the_client(value: str) -> None:
    seconds = retry_after(value, NOW)
    assert seconds is None or seconds >= 0


def test_a_date_without_a_zone_is_utc() -> None:
    assert http_date("Sat, 01 Mar 2025 02:00:00 -0000") == NOW


@given(st.integers(1, 60))
def test_backoff_grows_up_to_the_cap(attempt: int) -> None:
    assert 0.0 <= backoff(attempt, base=0.5, cap=30.0) <= min(30.0, 0.5 * 2 ** (attempt - 1))


def test_backoff_has_full_jitter() -> None:
    pauses = [backoff(5, base=1.0, cap=16.0) for _ in range(400)]
    assert min(pauses) < 4 < 12 < max(pauses)
