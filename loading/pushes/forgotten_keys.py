"""Takes the forgotten out of pushes: of their keys, and of the inbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loading.pushes.names import resources_named
from warehouse.forgetting.columns import MENTION_NAMES, SUBJECT_NAMES, V3
from warehouse.forgetting.forgotten import Matcher
from warehouse.forgetting.scrub import without
from warehouse.forgetting.sqlite_rows import change_rows
from warehouse.identifiers import folded

#: Resources whose pushed keys are ids of persons, or may name one.
PEOPLE = frozenset(("reflections", "students", "teachers", "class_members"))


def forget_in_inbox(
    path: Path, school_id: int, matcher: Matcher, resources: Mapping[str, tuple[str, ...]], *, apply: bool
) -> int:
    """Give events of the inbox the ids that stand for the forgotten. Events changed. resources: as in
    `pushes.resources`. Raises sqlite3.Error."""

    def clean(row: dict[str, Any]) -> dict[str, Any]:
        keys = keys_without(matcher, row["resource"], json.loads(row["keys"]), resources)
        return {"keys": json.dumps(keys), "problem": row["problem"] and matcher.cleaned_words(row["problem"])}

    return change_rows(path, "event", "school_id", school_id, clean, apply=apply)


def keys_without(
    matcher: Matcher, resource: str, keys: Sequence[Any], resources: Mapping[str, tuple[str, ...]]
) -> list[Any]:
    """Pushed keys of a resource, by the platform's name for it, without the forgotten.

    Args:
        resources: As `PushSettings` has them."""
    named = resources_named(resource, resources)
    is_of_people = named is None or not PEOPLE.isdisjoint(named)
    return [_key_without(matcher, key, is_of_people=is_of_people) for key in keys]


def _key_without(matcher: Matcher, key: Any, *, is_of_people: bool) -> Any:
    if isinstance(key, dict):
        # A push may have whole rows for keys.
        return {
            name: _key_without(matcher, value, is_of_people=True)
            if folded(name) in SUBJECT_NAMES | MENTION_NAMES or (is_of_people and name == "id")
            else without(value, matcher, V3)
            for name, value in key.items()
        }
    if is_of_people and isinstance(key, int | str) and not isinstance(key, bool):
        substitute = matcher.find(V3, str(key).strip())
        if substitute is None and isinstance(key, str):
            substitute = matcher.identifies(key)
        return key if substitute is None else substitute
    return key
