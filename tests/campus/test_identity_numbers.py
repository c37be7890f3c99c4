"""Identity numbers are recognised by the names of their fields and by their own form, and by nothing else."""

import json
import unicodedata
from collections.abc import Callable
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.account import Drift
from campus.decoding import columnar
from campus.decoding import page as page_decoder
from campus.decoding.columnar import Records, decode_records
from campus.decoding.definition import parse_definition
from campus.decoding.inferred_contract import contract_of, primary_key
from campus.decoding.page import decode_page
from campus.http.errors import quoted
from campus.identity_numbers import (
    MARK,
    is_identity_field,
    is_identity_number,
    may_hold_identity_number,
    without_identity_numbers,
)
from campus.registry import RESOURCES

KIND = "withheld_identity_number"
SPELLINGS = (
    *("id_card", "idCard", "IDCARD", "ID-Card", "id card", "ｉｄＣａｒｄ", "id_no", "idNumber"),
    *("identity_number", "sfzh", "SFZJH", "身份证号", "身份证号码", "证件号", "证件号码", "居民身份证号"),
    *("idcard2", "father_id_card", "fatherIdCard", "父亲身份证号", "nationalId", "identityCardNo"),
)
OTHERS = (
    *("id", "card_id", "student_id", "valid_card", "validcard", "paid_card", "grid_no", "usin", "identity"),
    *("student_id_no", "id_card_type", "是否有身份证", "idea_number", "学籍号"),
)


def number(region: int = 110101, born: str = "19900307", sequence: int = 123) -> str:
    """An identity number, its check digit reckoned as GB 11643 says: position i weighs 2**(18-i) mod 11."""
    digits = f"{region:06d}{born}{sequence:03d}"
    total = sum(int(digit) * 2 ** (17 - place) for place, digit in enumerate(digits))
    return digits + "10X98765432"[total % 11]


NUMBER = number()

numbers = st.builds(
    number,
    st.integers(110000, 910000),
    st.dates(date(1900, 1, 1), date(2020, 12, 31)).map(lambda day: f"{day:%Y%m%d}"),
    st.integers(0, 999),
)


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_field_of_identity_numbers_is_known_by_its_name(name: str) -> None:
    assert is_identity_field(name)


@pytest.mark.parametrize("name", OTHERS)
def test_other_names_are_not_taken_for_it(name: str) -> None:
    assert not is_identity_field(name)


@given(
    st.sampled_from(["idcard", "idnumber", "sfzh", "身份证号"]),
    st.lists(st.sampled_from(["", "_", "-", " ", "__"])),
    st.data(),
)
def test_a_name_is_folded_before_it_is_compared(name: str, gaps: list[str], data: st.DataObject) -> None:
    letters = [
        data.draw(st.sampled_from([character, character.upper(), _wide(character)])) for character in name
    ]
    spelt = "".join(letter + gap for letter, gap in zip(letters, gaps + [""] * len(letters), strict=False))
    assert is_identity_field(spelt)


def _wide(letter: str) -> str:
    return chr(ord(letter) + 0xFEE0) if letter.isascii() else letter


@given(numbers)
def test_a_valid_number_is_found_in_every_spelling(valid: str) -> None:
    wide = "".join(map(_wide, valid))
    assert unicodedata.normalize("NFKC", wide) == valid
    for text in (valid, valid.lower(), f" {valid}\n", wide):
        assert is_identity_number(text)
    for text in (valid, wide, f"{valid}43"):
        masked = without_identity_numbers(f"证号G{text}，电话")
        assert valid not in masked and MARK in masked
        assert may_hold_identity_number(json.dumps(f"x{text}").encode())
        assert may_hold_identity_number(json.dumps(f"x{text}", ensure_ascii=False).encode())


@given(numbers, st.integers(0, 17), st.integers(1, 9))
def test_a_wrong_digit_makes_it_no_number(valid: str, place: int, shift: int) -> None:
    digit = valid[place]
    wrong = str((int(digit) + shift) % 10) if digit != "X" else str(shift)
    text = valid[:place] + wrong + valid[place + 1 :]
    assert not is_identity_number(text)
    assert without_identity_numbers(text) == text


@pytest.mark.parametrize("born", ["19900230", "19901301", "17991231", "29990101", "00000000"])
def test_a_number_without_a_date_of_birth_is_none(born: str) -> None:
    assert not is_identity_number(number(born=born))


@pytest.mark.parametrize("text", ["9" + NUMBER, NUMBER + "4", NUMBER + "432", NUMBER[:17], ""])
def test_other_runs_of_digits_stay(text: str) -> None:
    assert without_identity_numbers(text) == text


@given(st.binary(max_size=200), numbers, st.binary(max_size=200), st.integers(0, 20))
def test_the_fast_search_of_a_large_page_misses_none(
    before: bytes, valid: str, after: bytes, shift: int
) -> None:
    body = b" " * (1 << 16) + b"-" * shift + before + b"/" + valid.encode() + b"/" + after
    assert may_hold_identity_number(body)


def test_random_ids_of_18_digits_are_seldom_taken_for_numbers() -> None:
    ids = [10**17 + 7_919_191_919_191 * place for place in range(100_000)]
    assert sum(is_identity_number(str(id_)) for id_ in ids) < 20


# Pages

DATASET: dict[str, Any] = {
    "name": "pupils",
    "fields": [
        {"name": "id", "type": "integer", "primary": True},
        {"name": "code", "type": "text"},
        {"name": "house_id", "type": "integer"},
        {"name": "amount", "type": "integer"},
        {"name": "sfzh", "type": "text"},
        {"name": "field_7", "label": "身份证号码", "type": "text"},
        {"name": "more", "type": "json"},
    ],
}
CONTRACT = contract_of(parse_definition(DATASET))

Decode = Callable[..., Records]


def slowly(body: bytes, *_: Any, keep_id_numbers: bool = False) -> Records:
    return columnar._decode_slowly(body, CONTRACT, keep_id_numbers=keep_id_numbers)


@pytest.fixture(params=[decode_records, slowly], ids=["fast", "slow"])
def decode(request: pytest.FixtureRequest) -> Decode:
    return request.param  # type: ignore[no-any-return]


def page(*rows: dict[str, Any]) -> bytes:
    return json.dumps(rows).encode()


def test_values_and_named_columns_are_withheld_and_counted(decode: Decode) -> None:
    old = "110101900307123"
    others = [number(sequence=place) for place in range(6)]
    body = page(
        {"id": 1, "code": others[0], "amount": int(number(sequence=11)), "sfzh": old, "field_7": old},
        {"id": 2, "code": f"see {others[1]}.", "amount": 5, "sfzh": None, "field_7": ""},
    )
    records = decode(body, CONTRACT, ("id",))
    first, second = records.batch.to_pylist()
    assert first == {**dict.fromkeys(first), "id": 1}
    assert second == {**dict.fromkeys(second), "id": 2, "code": f"see {MARK}.", "amount": 5}
    counts = {drift.field: rows for drift, rows in records.drift.items() if drift.kind == KIND}
    assert counts == {"code": 2, "amount": 1, "sfzh": 1, "field_7": 1}
    unmasked = decode(body, CONTRACT, ("id",), keep_id_numbers=True)
    assert unmasked.batch.to_pylist()[0] == {**first, **json.loads(body)[0]}
    assert not any(drift.kind == KIND for drift in unmasked.drift)


def test_what_no_contract_names_is_kept_without_them(decode: Decode) -> None:
    nested = {"a": [{"b": {"id_card": "110101900307123", "note": f"no. {NUMBER}"}}, [int(NUMBER)]], NUMBER: 1}
    body = page({"id": 1, "idCard": "310", "身份证号": "3101", "x": nested, "more": {"k": NUMBER}}, {"id": 2})
    records = decode(body, CONTRACT, ("id",))
    text = str(records.batch.to_pylist()) + str(records.drift)
    assert NUMBER not in text and "1101019" not in text and "310" not in text
    extra = json.loads(records.batch.column("_extra")[0].as_py())
    assert extra["x"] == {"a": [{"b": {"note": f"no. {MARK}"}}, [None]], MARK: 1}
    counts = {drift.field: rows for drift, rows in records.drift.items() if drift.kind == KIND}
    assert counts == {"idCard": 1, "身份证号": 1, "x": 1, "x.id_card": 1, "more": 1}


def test_keys_and_ids_that_look_like_numbers_stay(decode: Decode) -> None:
    ids = [int(number(sequence=place)) for place in range(20) if number(sequence=place).isdigit()]
    records = decode(page(*({"id": id_, "house_id": id_} for id_ in ids)), CONTRACT, ("id",))
    assert records.batch.column("id").to_pylist() == records.batch.column("house_id").to_pylist() == ids
    assert not records.bad and not any(drift.kind == KIND for drift in records.drift)


def keyed_by_text() -> Any:
    fields = [{"name": "code", "type": "text", "primary": True}, {"name": "n", "type": "integer"}]
    return contract_of(parse_definition({"name": "d", "fields": fields}))


def test_one_text_key_that_looks_like_a_number_stays() -> None:
    rows = [{"code": "100000000000000001"}, {"code": "100000000000000002"}, {"code": NUMBER}]
    records = decode_records(page(*rows), keyed_by_text(), ("code",))
    assert records.batch.column("code").to_pylist() == [row["code"] for row in rows]


def test_rows_whose_text_keys_are_numbers_are_refused() -> None:
    codes = [number(sequence=place) for place in range(4)]
    records = decode_records(page(*({"code": code, "n": 1} for code in codes)), keyed_by_text(), ("code",))
    assert records.batch.num_rows == 0 and len(records.bad) == 4
    assert not any(code in str(records) for code in codes)


def test_a_dataset_keyed_by_a_field_of_numbers_has_no_key() -> None:
    for field in ({"name": "sfzh"}, {"name": "field_3", "label": "身份证号"}):
        members = {"type": "text", "primary": True}
        assert primary_key(parse_definition({"name": "d", "fields": [field | members]})) == ()


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("id", ["null", "5"])
def test_a_row_keeps_none_whatever_its_fields_are_called(name: str, id: str) -> None:
    """In `_extra` where the row loads, in quarantine where not; the old number by its name alone."""
    inner = json.dumps({name: "110101900307123", "list": [{name: NUMBER}], "note": NUMBER})
    body = f'[{{"id": {id}, {json.dumps(name)}: "{NUMBER}", "x": {inner}, "name": "王 {NUMBER}"}}]'
    for text in (body, json.dumps(json.loads(body), ensure_ascii=False)):
        decoded = decode_page(text.encode(), RESOURCES["students"].contract)
        output = str(decoded.rows) + str(decoded.extras) + str(decoded.bad) + str(decoded.drift)
        assert NUMBER not in output and "110101900307123" not in output
        assert len(decoded.bad) == (id == "null")
        assert any(drift.kind == KIND for drift in decoded.drift)


@pytest.mark.parametrize("odd", ['"\\ud83d"', "NaN", '{"a": "\\ud83d"}'])
def test_a_row_with_odd_text_keeps_none(odd: str) -> None:
    body = f'[{{"id": null, "odd": {odd}, "x": {{"sfzh": "110101900307123", "o": {odd}}}, "n": "{NUMBER}"}}]'
    decoded = decode_page(body.encode(), RESOURCES["students"].contract)
    assert NUMBER not in str(decoded) and "110101900307123" not in str(decoded)


def test_escaped_digits_and_names_hide_nothing() -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in NUMBER)
    wide = "".join(f"\\u{ord(_wide(letter)):04X}" for letter in NUMBER)
    body = f'[{{"id": 1, "name": "{escaped}", "x": "{wide}", "\\u8eab\\u4efd\\u8bc1": "110101900307123"}}]'
    [row] = (decoded := decode_page(body.encode(), RESOURCES["students"].contract)).rows
    assert row.name is None and "110101900307123" not in str(decoded.extras)  # type: ignore[attr-defined]
    assert json.loads(decoded.extras[0] or "{}") == {"x": None}


def test_a_refusal_is_quoted_without_numbers() -> None:
    body = json.dumps({"message": f"idcard {NUMBER} exists"}).encode()
    assert quoted(body, ()) == f"idcard {MARK} exists"


def test_a_clean_page_is_handed_on_as_it_is() -> None:
    body = page({"id": 10**18 - 1, "code": "2024-03-01 10:00:00", "amount": 123456789012345678})
    records = decode_records(body, CONTRACT, ("id",))
    assert records.batch.num_rows == 1 and pa.types.is_int64(records.batch.column("amount").type)
    assert Drift(KIND, "amount") not in records.drift


@pytest.mark.parametrize("letters", ["证", "号", "且", "㐀", "a且㐀"])
@pytest.mark.parametrize("padding", [0, 100_000])
def test_escaped_letter_hides_no_number(letters: str, padding: int) -> None:
    """JSON in ASCII: \\u8bc1 ends with a digit, which is no part of the number behind it."""
    body = json.dumps([{"id": 1, "name": f"{letters}{NUMBER}", "usin": "x" * padding}])
    assert may_hold_identity_number(body.encode())
    page = decode_page(body.encode(), RESOURCES["students"].contract)
    assert page.rows[0].name == letters + MARK  # type: ignore[attr-defined]


def test_repeated_name_hides_nothing() -> None:
    """Of members with one name the walk sees the last, and the others would stay in the text."""
    for hidden in ('{"id_card":"110101900307123"}', '{"password":"geheim"}', f'"{NUMBER}"'):
        body = f'[{{"id":1,"name":"x","more":{{"a":{hidden},"a":1}}}}]'
        page = decode_page(body.encode(), RESOURCES["students"].contract)
        assert page.extras == ['{"more":{"a":1}}'], hidden


def test_row_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page walks the rows that have a number; the decoder walks the others."""
    rows: list[bytes] = []
    walk = page_decoder.withhold_in_row  # type: ignore[attr-defined]

    def withhold(row: bytes, kind: Any) -> Any:
        rows.append(row)
        return walk(row, kind)

    monkeypatch.setattr(page_decoder, "withhold_in_row", withhold)
    body = f'[{{"id":1,"more":{{"a":"{NUMBER}","password":"geheim"}}}},{{"id":2,"more":1}}]'
    page = decode_page(body.encode(), RESOURCES["students"].contract)
    assert page.extras == ['{"more":{"a":null}}', '{"more":1}']
    assert rows == [b'{"id":2,"more":1}']


def decimals() -> Any:
    fields = [{"name": "id", "type": "decimal", "precision": 4, "scale": 0, "primary": True}]
    card = {"name": "id_card", "type": "decimal", "precision": 10, "scale": 0}
    return contract_of(parse_definition({"name": "d", "fields": [*fields, card]}))


def test_number_too_long_for_its_column_is_withheld() -> None:
    """The decoder accepts a decimal of any length, so the row fits until its columns are looked at."""
    for sent in (110101900307123, "110101900307123"):
        decoded = decode_page(page({"id": 1, "id_card": sent}, {"id": 2, "id_card": 3}), decimals())
        assert decoded.extras == [None, None]
        assert decoded.drift == {Drift(KIND, "id_card"): 2}


def test_row_with_too_long_key_is_quarantined_without_number() -> None:
    decoded = decode_page(page({"id": 123456, "id_card": 110101900307123}, {"id": 2}), decimals())
    assert [bad.raw for bad in decoded.bad] == ['{"id":123456}']
    assert [row.id for row in decoded.rows] == [2]
