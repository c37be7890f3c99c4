"""Translates the fields of a report query into a definition, of which a contract is made."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from campus.account import Drift
from campus.decoding.definition import Definition, parse_definition
from campus.decoding.raw_json import JSON_ERRORS

# The members of a field, in an answer of the platform or in a row of raw.report_fields.
Members = Mapping[str, Any]


def definition_of(title: str, label: str | None, fields: Iterable[Members]) -> Definition:
    """The definition of records with these fields. Unreadable fields go to its drift. label: of the query."""
    return parse_definition({"name": title, "label": label, "fields": list(map(_dataset_field, fields))})


def members_of(row: bytes | Raw) -> dict[str, Any]:
    """The members of a JSON object; none where it is unreadable."""
    try:
        return msgspec.json.decode(row, type=dict[str, Any])
    except JSON_ERRORS:
        return {}


def changed_fields(before: Iterable[Members], after: Iterable[Members]) -> list[Drift]:
    """The fields that are gone or of another kind. A dynamic field follows the data, and is no drift."""
    kinds = {field["name"]: field.get("kind") for field in after}
    drift = []
    for name, kind in ((field["name"], field.get("kind")) for field in before if not _is_dynamic(field)):
        if name not in kinds:
            drift.append(Drift("field_removed", name, str(kind)))
        elif kinds[name] != kind:
            drift.append(Drift("field_retyped", name, f"{kind} -> {kinds[name]}"))
    return drift


def _is_dynamic(field: Members) -> bool:
    return field.get("is_dynamic") == 1


def _dataset_field(field: Members) -> Members:
    """The field of a report under the names that a field of a dataset has."""
    label = field.get("label")
    path = field.get("label_in_path")
    titles = [title for title in path if isinstance(title, str)] if isinstance(path, list) else []
    return {
        "name": field.get("name"),
        "type": field.get("kind"),
        "position": field.get("position"),
        "label": None if titles and titles[-1] == label else label,
        "description": " / ".join(titles) or None,
    }
