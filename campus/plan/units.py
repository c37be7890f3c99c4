"""What slices of resources are asked for with, and a request for one collection of such a slice."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from campus.registry import ResourceSpec

# Proxies and servers commonly refuse a request line beyond 2,000 characters; the rest of the URL needs some.
MAX_IDS_LENGTH = 1_500


@dataclass(frozen=True)
class SliceQuery:
    """What one slice is asked for with. `parents`: ids of the classes, items or students that the questions
    name; `filled`: those of them that had rows before; `devices` and `cards`: those that the settings name;
    `client_id`: what the platform knows us by, where no token tells. `known`: ids of the slice's rows that
    are held, tombstones among them; `statuses`: values that the school's rows carry. `since`: only what was
    updated then or later is asked for (the platform's wall clock)."""

    school_id: int | None
    semester_id: int | None = None
    parents: tuple[int, ...] = ()
    filled: frozenset[int] = frozenset()
    term_types: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    client_id: str = ""
    known: frozenset[int] = frozenset()
    statuses: tuple[str, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True)
class Unit:
    """One collection to ask for. `ids`: what is missing if it fails. `known`: what a row has in fields that
    it leaves out. `belongs`: fields that rows have in common unless the platform ignores a parameter.
    `may_be_absent`: an unknown id (404) is a normal answer that means no rows, or the row `if_absent`.
    `empty_is_unusual`: an empty answer needs more confirmation (see campus.fetch.emptiness). `since`: only
    what was updated then or later is asked for."""

    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    ids: tuple[int | str, ...] = ()
    known: Mapping[str, int | str | date] = field(default_factory=dict)
    belongs: Mapping[str, int | date] = field(default_factory=dict)
    may_be_absent: bool = False
    if_absent: Mapping[str, str] | None = None
    empty_is_unusual: bool = True
    since: datetime | None = None


def id_batches(ids: Iterable[int], max_length: int = MAX_IDS_LENGTH) -> list[tuple[int, ...]]:
    """Split ids so that each batch, comma-separated and URL-encoded, stays within `max_length` characters."""
    batches: list[tuple[int, ...]] = []
    batch: list[int] = []
    length = 0
    for one in ids:
        cost = len(str(one)) + len("%2C")
        if batch and length + cost > max_length:
            batches.append(tuple(batch))
            batch, length = [], 0
        batch.append(one)
        length += cost
    return [*batches, tuple(batch)] if batch else batches


def class_batch(spec: ResourceSpec, class_ids: tuple[int | str, ...]) -> Unit:
    """One question for several classes."""
    ids = ",".join(str(one) for one in class_ids)
    return Unit(spec.path, {**spec.params, "class_ids": ids}, class_ids, may_be_absent=len(class_ids) == 1)


def changed_only(spec: ResourceSpec, unit: Unit, since: datetime | None) -> Unit:
    """The same collection, of which only what was updated since then is asked for; None: all of it."""
    if since is None or spec.updated_since is None:
        return unit
    return replace(
        unit, params={**unit.params, spec.updated_since: f"{since:%Y-%m-%d %H:%M:%S}"}, since=since
    )
