"""Splits answers that hold rows of several resources, and decodes each part against its own contract.

An embedded object that is a row of another resource (a semester inside a transcript) is left out.
"""

import codecs
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from campus.decoding.page import Page, decode_page
from campus.decoding.raw_json import raw_rows
from campus.http.errors import UnexpectedAnswer
from campus.registry import RESOURCES, ResourceSpec

# The rows of each resource in an answer, as JSON.
Parts = dict[str, list[bytes | Raw]]
Members = dict[str, Raw]


def as_rows(body: bytes, *, single: bool) -> bytes:
    """The JSON list of rows in an answer of the v1 interface. `single`: the answer is one object.

    Some lists come as an object: of lists (the fields of students, and of teachers), or of rows by name."""
    if not body.startswith(b"{"):
        return body
    return b"[%b]" % body if single else _rows_of_object(body)


def _rows_of_object(body: bytes) -> bytes:
    """The rows of an object of lists, or of rows by name; the body of any other object."""
    members = _object(body)
    firsts = {bytes(value)[:1] for value in members.values()}
    if firsts == {b"["}:
        return msgspec.json.encode([row for value in members.values() for row in _list(value, "rows") or ()])
    if firsts == {b"{"}:
        named = [{"name": Raw(msgspec.json.encode(name)), **_object(row)} for name, row in members.items()]
        return msgspec.json.encode(named)
    return body if members else b"[]"


def page_of(spec: ResourceSpec, body: bytes, *, keep_id_numbers: bool = False) -> Page[Any]:
    """Decode the answer to a request for a resource; keep_id_numbers as of decode_page.

    Raises TornBody where the body is not JSON, UnexpectedAnswer where it holds no rows."""
    rows = as_rows(body, single=spec.is_one_object) if spec.is_v1 else body
    return decode_page(rows, spec.contract, keep_id_numbers=keep_id_numbers)


def taken_apart(body: bytes, name: str, *, keep_id_numbers: bool = False) -> dict[str, Page[Any]]:
    """Decode the rows of each resource in the answer to a request for `name`, a key of SPLITTERS;
    keep_id_numbers as of decode_page.

    Raises TornBody where the body is not JSON, UnexpectedAnswer where it has another shape."""
    parts = SPLITTERS[name](body)
    specs = [RESOURCES[part] for part in family(name)]
    rows = {spec: b"[%b]" % b",".join(parts.get(spec.name, [])) for spec in specs}
    return {
        spec.name: decode_page(rows[spec], spec.contract, keep_id_numbers=keep_id_numbers) for spec in specs
    }


def family(name: str) -> tuple[str, ...]:
    """A resource, and the resources whose rows its answers contain."""
    return (name, *(spec.name for spec in RESOURCES.values() if spec.embedded_in == name))


def together_with(spec: ResourceSpec, selected: Iterable[ResourceSpec]) -> tuple[ResourceSpec, ...]:
    """The selected resources that come in one answer with `spec`, itself included."""
    names = family(spec.embedded_in or spec.name)
    return tuple(resource for resource in selected if resource.name in names)


def _assessment(body: bytes) -> Parts:
    """The assessment of a class, and its items; an empty answer has none."""
    answer = body.removeprefix(codecs.BOM_UTF8).strip() or b"null"
    parts: Parts = defaultdict(list)
    for row in raw_rows(b"[%b]" % answer if answer.startswith(b"{") else answer):
        members = _object(row)
        items = _list(members.pop("items", None), "an assessment's items")
        if items is None and bytes(members.get("item_num", b"0")) not in (b"0", b"null"):
            raise UnexpectedAnswer("the assessment came without its items although expand=items was asked.")
        parts["assessments"] += [msgspec.json.encode(members)] if members else []
        parts["assessment_items"] += _flat(items or [])
    return parts


def _flat(items: Iterable[bytes | Raw], parent: Raw | None = None) -> list[bytes | Raw]:
    """Items, each followed by its `children`, which some platforms send inside their parent. A child without
    a parent's id gets it."""
    rows: list[bytes | Raw] = []
    for item in items:
        if not bytes(item).lstrip().startswith(b"{"):
            rows.append(item)
            continue
        members = _object(item)
        children = _list(members.pop("children", None), "an item's children") or []
        if parent is not None:
            members.setdefault("pid", parent)
        rows.append(msgspec.json.encode(members))
        rows += _flat(children, members.get("id"))
    return rows


def _timetable(body: bytes) -> Parts:
    members = {} if body.strip() == b"[]" else _answer(body)
    return {
        f"timetable_{name}": [*(_list(members.get(name), f"a timetable's {name}") or [])]
        for name in ("days", "lessons")
    }


def _transcript(body: bytes) -> Parts:
    """A student's transcript, with its semesters and their courses; an empty answer has none."""
    answer = body.strip()
    parts: Parts = defaultdict(list)
    if answer in (b"", b"null", b"[]", b"{}"):
        return parts
    whole = _answer(answer)
    for group in _list(whole.pop("grade_list", None), "a transcript's grade_list") or []:
        semester = _object(group)
        of_semester = {"semester_id": _object(semester.pop("semester", Raw(b"{}"))).get("id", Raw(b"null"))}
        for course in _list(semester.pop("grade_list", None), "a semester's grade_list") or []:
            parts["transcript_courses"].append(msgspec.json.encode(_object(course) | of_semester))
        parts["transcript_semesters"].append(msgspec.json.encode(semester | of_semester))
    parts["transcripts"].append(msgspec.json.encode(whole))
    return parts


SPLITTERS: Mapping[str, Callable[[bytes], Parts]] = {
    "assessments": _assessment,
    "timetable_days": _timetable,
    "transcripts": _transcript,
}


def _answer(body: bytes) -> Members:
    """The object of an answer."""
    return next((_object(row) for row in raw_rows(b"[%b]" % body)), {})


def _object(value: bytes | Raw) -> Members:
    try:
        return _MEMBERS.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnexpectedAnswer(f"expected an object: {error}.") from error


def _list(value: Raw | None, name: str) -> list[Raw] | None:
    try:
        return None if value is None else _LIST.decode(value)
    except msgspec.DecodeError as error:
        raise UnexpectedAnswer(f"expected {name} as a list: {error}.") from error


_MEMBERS = msgspec.json.Decoder(Members)
_LIST = msgspec.json.Decoder(list[Raw] | None)
