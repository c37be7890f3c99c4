"""Takes the forgotten out of pushes: of their keys, and of the inbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loading.pushes.names import resources_named
from warehouse.forgetting.columns import SUBJECT_NAMES, V3
from warehouse.forgetting.forgotten import Matcher
from warehouse.forgetting.scrub import anonymous, names_person, person_with, without
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
    """A key without the forgotten. A push may have whole rows for keys: all that a row says of a forgotten
    person goes. None: a text that was a mark of one; then the whole slice is read."""
    if isinstance(key, dict):
        ids = [value for name, value in key.items() if folded(name) in SUBJECT_NAMES]
        ids += [key.get("id")] if is_of_people else []
        if (person := person_with(ids, matcher, V3)) is not None:
            return anonymous(key, person, matcher, V3)
        return {
            name: _key_without(
                matcher,
                value,
                is_of_people=names_person(name) or (is_of_people and isinstance(value, dict)),
            )
            for name, value in key.items()
        }
    if isinstance(key, list):
        return [_key_without(matcher, value, is_of_people=is_of_people) for value in key]
    person = person_with([key], matcher, V3) if is_of_people else None
    return without(key, matcher, V3) if person is None else person
