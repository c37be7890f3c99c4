"""The query for one slice of a resource, and the units of requests that it is made of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from campus.registry import ResourceSpec

# Proxies and servers commonly refuse a request line beyond 2,000 characters; the rest of the URL needs some.
MAX_IDS_LENGTH = 1_500


@dataclass(frozen=True)
class SliceQuery:
    """The parameters from which the requests of one slice are made."""

    school_id: int | None
    semester_id: int | None = None
    #: Ids of the classes, items or students that the requests name.
    parents: tuple[int, ...] = ()
    #: Those of them that had rows before.
    ids_with_rows: frozenset[int] = frozenset()
    term_types: tuple[str, ...] = ()
    #: Ids of devices and cards from the settings.
    devices: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    #: The client's id, for requests without a token.
    client_id: str = ""
    #: Ids of the slice's rows in the lake, tombstones among them.
    stored_ids: frozenset[int] = frozenset()
    #: Values of `status` in the school's rows.
    statuses: tuple[str, ...] = ()
    #: Only rows that were updated then or later are requested (the platform's wall clock).
    since: datetime | None = None


@dataclass(frozen=True)
class Unit:
    """One collection to request."""

    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    #: The ids that are missing if the unit fails.
    ids: tuple[int | str, ...] = ()
    #: The values of fields that a row may leave out, since the request fixes them.
    defaults: Mapping[str, int | str | date] = field(default_factory=dict)
    #: The values that all rows have, unless the platform ignores a parameter.
    expected: Mapping[str, int | date] = field(default_factory=dict)
    #: An unknown id (404) is a normal answer, which means no rows, or the row `if_absent`.
    may_be_absent: bool = False
    if_absent: Mapping[str, str] | None = None
    #: An empty answer needs more confirmation (see campus.fetch.answers).
    empty_is_unusual: bool = True
    #: Only rows that were updated then or later are requested.
    since: datetime | None = None


def id_batches(ids: Iterable[int], max_length: int = MAX_IDS_LENGTH) -> list[tuple[int, ...]]:
    """Split ids so that each batch, comma-separated and URL-encoded, stays within `max_length` characters."""
    batches: list[tuple[int, ...]] = []
    batch: list[int] = []
    length = 0
    for id_ in ids:
        cost = len(str(id_)) + len("%2C")
        if batch and length + cost > max_length:
            batches.append(tuple(batch))
            batch, length = [], 0
        batch.append(id_)
        length += cost
    return [*batches, tuple(batch)] if batch else batches


def class_batch(spec: ResourceSpec, class_ids: tuple[int | str, ...]) -> Unit:
    """One request for several classes."""
    ids = ",".join(map(str, class_ids))
    return Unit(spec.path, {**spec.params, "class_ids": ids}, class_ids, may_be_absent=len(class_ids) == 1)


def changed_only(spec: ResourceSpec, unit: Unit, since: datetime | None) -> Unit:
    """The same unit, limited to rows that were updated since then; None: all rows."""
    if since is None or spec.updated_since is None:
        return unit
    return replace(
        unit, params={**unit.params, spec.updated_since: f"{since:%Y-%m-%d %H:%M:%S}"}, since=since
    )
