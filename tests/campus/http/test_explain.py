"""The platform's words in our messages: short, on one line, and without secrets."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.http.errors import LONGEST_QUOTE, answered, quoted, refusal
from campus.http.request import Request


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", ""),
        (b"  plain\n words\t", "plain words"),
        (b'{"message": "no"}', "no"),
        (
            b'{"code": 7, "error": "invalid_scope", "error_description": "no class.read"}',
            "no class.read; invalid_scope",
        ),
        (b'{"errors": {"name": ["too long", "too odd"], "id": "taken"}}', "too long; too odd; taken"),
        (b'{"errors": ["a", {"message": "b", "code": 3}]}', "a; b"),
        # The same words under two keys, and within a longer text, are told once.
        (b'{"error": "no scope", "message": "no scope", "detail": "403: no scope"}', "403: no scope"),
        (b'{"code": 7}', "7"),
        (b"null", ""),
        ('{"message": "没有权限"}'.encode(), "没有权限"),
        (b"<html><head><title>\n 502 Bad\n Gateway</title>", "an HTML page, 502 Bad Gateway"),
        (b"<p>hm</p>", "an HTML page"),
        (b"\xff\xfe\x00odd\x1b[31m", "\ufffd\ufffdodd[31m"),
        (b"[" * 100_000, "[" * (LONGEST_QUOTE - 1) + "…"),
    ],
)
def test_the_words_are_found_wherever_platforms_put_them(body: bytes, said: str) -> None:
    assert quoted(body, ()) == said


@pytest.mark.parametrize(
    ("said", "scope", "words"),
    [
        ("lacks the scope user.write", "", "Writing needs the scope user.write: name it in writes.scopes"),
        ("no", "", "The scopes for reading do not let it write: ask the platform's operator"),
        ("needs user.read", "", "The scopes for reading do not let it write"),
        ("no", "people.write", "It was sent with people.write."),
    ],
)
def test_a_write_that_is_forbidden_names_the_scope_for_writing(said: str, scope: str, words: str) -> None:
    error = refusal(Request("POST", "/api/v1/reflections", 101), 403, said, scope)
    assert words in error.advice
    assert "writes.scopes of campus.yaml" in error.advice and "grants it" not in error.advice


@pytest.mark.parametrize(
    ("said", "names_address"),
    [("nobody's is not bound", False), ("", True), ("an HTML page, 404 Not Found", True)],
)
def test_a_platform_that_knows_no_such_id_has_the_right_address(said: str, names_address: bool) -> None:
    error = refusal(Request("POST", "/api/v1/studentcard/cards/x/attendance", 101), 404, said)
    assert error.advice.startswith("Check the id in the path")
    assert ("CAMPUS_BASE_URL" in error.advice) is names_address


secrets = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=6, max_size=20)


@given(secrets, st.sampled_from(["raw", "escaped", "in JSON", "in a URL"]))
def test_a_secret_is_hidden_however_it_is_written(secret: str, form: str) -> None:
    text = {
        "raw": f"got {secret} for secret",
        "escaped": f"got {json.dumps(secret)} for secret",
        "in JSON": json.dumps({"message": f"got {secret} for secret"}),
        "in a URL": f"got ?client={quote(secret, safe='')} for secret",
    }[form]
    said = quoted(text.encode(), {secret})
    assert secret not in said
    assert "***" in said


@pytest.mark.parametrize(
    "text",
    ["Authorization: Bearer abc.DEF-123", 'x "access_token": "abc.DEF-123"', "client_secret=abc.DEF-123&x"],
)
def test_what_looks_like_a_token_is_hidden_although_it_is_not_ours(text: str) -> None:
    assert "abc" not in quoted(text.encode(), ())


def test_a_secret_at_the_cut_is_hidden_as_a_whole() -> None:
    assert "secr" not in quoted(b"x" * (LONGEST_QUOTE - 5) + b" secret-value", {"secret-value"})


@pytest.mark.parametrize("said", ["No such scope", "No such scope.", "No such scope..."])
def test_a_sentence_of_the_platform_ends_once(said: str) -> None:
    assert answered(403, said) == "status 403, the platform says: No such scope."
