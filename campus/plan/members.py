"""Requests for the members of classes: a whole semester at once, or class by class."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from campus.capabilities import Capabilities
from campus.decoding.nested import page_of
from campus.decoding.page import Page
from campus.fetch.emptiness import confirmed
from campus.fetch.reader import AnswerRequest, Readings
from campus.fetch.rejection import unless_rejected
from campus.http.errors import NotFound, Refused, UnexpectedAnswer
from campus.plan.units import SliceQuery, Unit
from campus.registry import ResourceSpec

# An id that no platform gives a class: it shows whether the platform applies the filter by class.
NO_CLASS = 2**31 - 1
# Requests deleted rows too.
TRASHED_TOO = {"with_trashed": "1"}


def by_class_if_needed(
    capabilities: Capabilities, spec: ResourceSpec, query: SliceQuery, units: list[Unit]
) -> Readings[list[Unit]]:
    """The whole semester (the only unit of `units`) where members carry their class id, else a unit a class.

    The interface does not show whether they do, so one row is requested first. Raises UnexpectedAnswer where
    they do not and the platform ignores the filter by class: each class would have the members of all."""
    [whole] = units
    first = yield from _first_row(capabilities, spec, whole.params)
    if not (first.rows or first.bad) or _names_classes(first):
        return units
    try:
        of_none = {**whole.params, "class_id_in": str(NO_CLASS)}
        members_of_none = yield from _first_row(capabilities, spec, of_none, empty_is_unusual=False)
    except (NotFound, Refused):
        members_of_none = None
    if members_of_none and (members_of_none.rows or members_of_none.bad):
        raise UnexpectedAnswer(
            f"{spec.path}: members have no class_id, and class_id_in is ignored, so their class is unknown.",
            "Ask the platform's operator for one of the two.",
        )
    return [
        replace(
            whole,
            params={**whole.params, "class_id_in": str(class_id)},
            ids=(class_id,),
            defaults={"class_id": class_id},
            may_be_absent=True,
            empty_is_unusual=class_id in query.ids_with_rows,
        )
        for class_id in query.parents
    ]


def _first_row(
    capabilities: Capabilities,
    spec: ResourceSpec,
    params: Mapping[str, str],
    *,
    empty_is_unusual: bool = True,
) -> Readings[Page[Any]]:
    """A page with at least one row, unless the list is empty."""

    def ask(repeats: int) -> Readings[Page[Any]]:
        return (yield from unless_rejected(capabilities, spec.path, TRASHED_TOO, partial(get, repeats)))

    def get(repeats: int, trashed_too: Mapping[str, str]) -> Readings[Page[Any]]:
        sent = {**params, **trashed_too, "page": "1", "per_page": str(1 + repeats)}
        answer = yield AnswerRequest(spec.path, sent, partial(page_of, spec))
        page: Page[Any] = answer.value
        return page

    return (
        yield from confirmed(
            capabilities,
            ask,
            lambda page: not (page.rows or page.bad),
            is_unusual=lambda _: empty_is_unusual,
        )
    )


def _names_classes(page: Page[Any]) -> bool:
    """Whether all rows carry the id of their class."""
    return "class_id" in page.sent and all(row.class_id is not None for row in page.rows)
