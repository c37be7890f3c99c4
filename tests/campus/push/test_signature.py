"""The signature of a push: known answers, worked by hand from the specification, and any JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.push.message import Malformed, NotJson, compact, is_signed, parse, parse_push, signed_texts
from tests.kits.pushes.signing import TOKEN, hex_hmac

# What is signed is written out by hand: nonce and timestamp beneath the body, keys sorted at every depth,
# lists in order, no whitespace, nothing escaped. The HMACs are of OpenSSL:
#   printf '%s' TEXT | openssl dgst -sha256 -hmac TOKEN
KNOWN = [
    pytest.param(
        "n0nce",
        1747360800,
        '{"resource": "users", "id": "0196d4e1-7a10-7c3e-9d2f-0a1b2c3d4e5f",'
        ' "timestamp": "2025-05-16 10:00:00", "events": [{"pks": [3, 1, 2], "op": "updated"}]}',
        '{"events":[{"op":"updated","pks":[3,1,2]}],"id":"0196d4e1-7a10-7c3e-9d2f-0a1b2c3d4e5f",'
        '"nonce":"n0nce","resource":"users","timestamp":"2025-05-16 10:00:00"}',
        "d3da23b8b4f7bb55f5b0a0cdfedc52f40fa16c5a36f90f6b4b3fbaf3e6e0b1d6",
        id="the-bodys-timestamp-wins",
    ),
    pytest.param(
        "n0nce",
        1747360800,
        '{"resource":"成绩","id":"7","events":[{"op":"deleted","pks":[{"学号":"甲/1","班级":"七(1)"}]}]}',
        '{"events":[{"op":"deleted","pks":[{"学号":"甲/1","班级":"七(1)"}]}],"id":"7","nonce":"n0nce",'
        '"resource":"成绩","timestamp":1747360800}',
        "1e8e94cdf21587173fcd0b67fadd245edbc2296927b8a162c73ced873afa184f",
        id="chinese-a-composite-key-and-the-headers-timestamp",
    ),
    pytest.param(
        "n0nce",
        1747360800,
        '{"resource":"成绩","id":"7","events":[{"op":"deleted","pks":[{"学号":"甲/1","班级":"七(1)"}]}]}',
        '{"events":[{"op":"deleted","pks":[{"学号":"甲\\/1","班级":"七(1)"}]}],"id":"7","nonce":"n0nce",'
        '"resource":"成绩","timestamp":1747360800}',
        "ac8db3336ea73d1a3c671cf1fdebfd7fb51bf9b7f563b7352845c9b14e990779",
        id="slashes-escaped",
    ),
    pytest.param(
        "a",
        5,
        '{"nonce":"b","z":1.10,"y":[1E3,-0,0.0,123456789012345678901234567890],"x":{"b":null,"a":{"d":true,"c":"\\u00e9\\n"}}}',
        '{"nonce":"b","timestamp":5,"x":{"a":{"c":"é\\n","d":true},"b":null},"y":[1E3,-0,0.0,'
        '123456789012345678901234567890],"z":1.10}',
        "d64748b8af537c005cfc6d9dbfce2d6de6eb6b37a1419549da879a6ff93215c0",
        id="numbers-as-sent-and-a-nonce-of-the-body",
    ),
]


@pytest.mark.parametrize(("nonce", "timestamp", "body", "text", "signature"), KNOWN)
def test_known_answers(nonce: str, timestamp: int, body: str, text: str, signature: str) -> None:
    content = parse(body.encode())
    assert text in signed_texts(nonce, timestamp, content)
    assert is_signed(signature, nonce, timestamp, content, "key of the tests")
    assert not is_signed(signature.upper(), nonce, timestamp, content, "key of the tests")
    assert not is_signed(signature, nonce, timestamp, content, "another key")


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# Small ones: what is nested a few levels deep shows all that a body can have.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
BODIES = st.dictionaries(TEXTS, VALUES, max_size=4)


@given(BODIES, st.booleans(), st.sampled_from([None, 2]))
def test_any_body_is_signed_as_sorted_compact_json(
    body: dict[str, Any], ascii: bool, indent: int | None
) -> None:
    sent = json.dumps(body, ensure_ascii=ascii, indent=indent).encode()
    signed = json.dumps(
        {"nonce": "n", "timestamp": 7} | body, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    for text in (signed, signed.replace("/", "\\/")):
        assert is_signed(hex_hmac(text), "n", 7, parse(sent), TOKEN)


@given(BODIES, BODIES)
def test_another_body_is_not_signed(body: dict[str, Any], other: dict[str, Any]) -> None:
    merged, changed = ({"nonce": "n", "timestamp": 7} | payload for payload in (body, other))
    signature = hex_hmac(json.dumps(merged, ensure_ascii=False, sort_keys=True, separators=(",", ":")))
    same = json.dumps(merged, sort_keys=True) == json.dumps(changed, sort_keys=True)
    assert is_signed(signature, "n", 7, parse(json.dumps(other).encode()), TOKEN) == same


NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@given(NUMBERS)
def test_a_number_is_signed_as_it_was_sent(number: str) -> None:
    assert compact(parse(f'{{"a" : [ {number} ]}}'.encode())) == f'{{"a":[{number}]}}'


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[NaN]", b"[Infinity]", b"[01]", b"[" * 100_000, b"{}x"]
)
def test_what_is_no_json_is_told_so(body: bytes) -> None:
    with pytest.raises(NotJson):
        parse(body)


def test_half_a_surrogate_pair_is_never_signed() -> None:
    assert not is_signed("0" * 64, "n", 1, parse(b'{"a":"\\ud800"}'), TOKEN)


@pytest.mark.parametrize("signature", ["", "é", "\ud800", "0" * 63])
def test_any_text_may_come_as_a_signature(signature: str) -> None:
    assert not is_signed(signature, "n", 1, {}, TOKEN)


GOOD = {"id": "1", "resource": "users", "timestamp": "2025-05-16 10:00:00", "events": []}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"id": None}, "id"),
        ({"id": ""}, "id"),
        ({"id": "x" * 201}, "id"),
        ({"resource": ["users"]}, "resource"),
        ({"timestamp": "16.05.2025"}, "timestamp"),
        ({"timestamp": None}, "timestamp"),
        ({"events": {}}, "events"),
        ({"events": [[]]}, "events"),
        ({"events": [{"op": "updated", "pks": 7}]}, "pks"),
        ({"events": [{"pks": []}]}, "op"),
        ({"events": [{"op": "updated", "pks": [[1]]}]}, "key"),
    ],
)
def test_a_body_that_is_no_push_names_the_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(Malformed, match=field):
        parse_push(parse(json.dumps(GOOD | changes).encode()), 0)


def test_a_push_is_read_with_whole_numbers_as_integers() -> None:
    events = [
        {"op": "updated", "pks": [1, "b", {"class_id": 2, "role": "x"}]},
        {"op": "deleted", "pks": None},
    ]
    push = parse_push(parse(json.dumps(GOOD | {"events": events}).encode()), 0)
    assert [(event.op, event.keys) for event in push.events] == [
        ("updated", (1, "b", {"class_id": 2, "role": "x"})),
        ("deleted", ()),
    ]
    assert push.sent_at.timestamp() == 1747360800  # 10:00 in Beijing
