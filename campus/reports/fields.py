"""The fields of a query's records, as a definition that contracts are made of."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from campus.decoding.definition import Definition, parse_definition
from campus.decoding.page import Drift
from campus.decoding.raw_json import UNFIT

# Members of a field: those of an answer, or of a row of raw.report_fields.
Members = Mapping[str, Any]


def definition_of(title: str, label: str | None, fields: Iterable[Members]) -> Definition:
    """The definition of records with these fields, each with name, kind, position, label and label_in_path.
    What is no field is noted as drift. `label`: of the query."""
    return parse_definition({"name": title, "label": label, "fields": list(map(_as_of_a_dataset, fields))})


def members_of(row: bytes | Raw) -> dict[str, Any]:
    """The members of a JSON object; none where it cannot be read."""
    try:
        return msgspec.json.decode(row, type=dict[str, Any])
    except UNFIT:
        return {}


def lost(before: Iterable[Members], after: Iterable[Members]) -> list[Drift]:
    """The fields that were there whatever the data are, and are no longer, or are of another kind."""
    kinds = {one["name"]: one.get("kind") for one in after}
    return [
        Drift("field_retyped", name, f"{kind} -> {kinds[name]}")
        if name in kinds
        else Drift("field_removed", name, str(kind))
        for name, kind in ((one["name"], one.get("kind")) for one in before if not _is_dynamic(one))
        if name not in kinds or kinds[name] != kind
    ]


def _is_dynamic(field: Members) -> bool:
    return field.get("is_dynamic") == 1


def _as_of_a_dataset(field: Members) -> Members:
    """A report's field in the words of a dataset's."""
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
