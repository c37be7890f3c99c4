"""Rows in quarantine, tried again: asked for anew by their own class, item or id, where their JSON names it,
else taken from the quarantine itself, where this version's contract can read them.

What is only known to be a row of a list waits for the next sync, which reads such a list in full.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from campus.contracts.fields import Contract
from campus.decoding.page import decode_page, row_key
from campus.http.client import Client
from campus.registry import BASE_DATA, RESOURCES, ResourceSpec
from campus.sources.gathered import Gathered
from loading.connection.runtime import Runtime
from loading.custom_fields import with_fields_of
from loading.pushes.reader import read_targets, resolver
from loading.slices.commit import Loaded
from loading.slices.loader import Loader, failures_as_outcomes, staged
from loading.tables import TABLES, slice_of
from warehouse.lake.tables import SEPARATOR, Slice
from warehouse.load.logs.load_log import quarantine_rows, stay_in_quarantine
from warehouse.load.slice_reading import Cause, RequestedRows

Row = dict[str, Any]


@dataclass(frozen=True)
class Replayed:
    """The result of a replay of one slice: its rows in quarantine before and after, and the problem if the
    replay failed."""

    resource: str
    slice: str
    before: int
    left: int
    problem: str = ""


async def replay(
    runtime: Runtime, client: Client, cause: Cause, resource: str, label: str, rows: Sequence[Row]
) -> Replayed:
    """Try the rows of one slice again. `label`: the slice as the logs name it; `rows`: as quarantine_rows has
    them, all of the slice.

    Raises campus.http.errors.PlatformUnavailable."""
    spec = RESOURCES.get(resource)
    if spec is None or spec.sliced_by not in ("school", "semester"):
        return Replayed(resource, label, len(rows), len(rows))
    school_id, semester_id = _parts(label)
    spec = with_fields_of(runtime, spec, school_id)
    loader = Loader(runtime, client, cause, {})
    named, readable = _sorted_out(runtime, spec, school_id, rows)
    loaded: list[Loaded] = []
    if named:
        first = min(rows[index]["first_seen"] for index in named)
        targets = {semester_id: frozenset(named.values())}
        loaded += (await read_targets(loader, spec, school_id, targets, first)).loaded
    if readable:
        loaded += await _load_from_quarantine(loader, spec, slice_of(spec, school_id, semester_id), readable)
    problem = "; ".join(
        result.message for result in loaded if result.status == "failed" and result.outcome is None
    )
    if problem:
        return Replayed(resource, label, len(rows), len(rows), problem)
    tried = {_identity(rows[index]) for index in (*named, *readable)}
    now = [row for row in quarantine_rows(runtime.lake, [school_id], [resource]) if row["slice"] == label]
    # What was asked for anew and is broken still was met again by this very reading.
    left = [row for row in now if _identity(row) not in tried or row["last_seen"] >= cause.started_at]
    if tried:
        stay_in_quarantine(runtime.lake, TABLES[resource], slice_of(spec, school_id, semester_id), left)
    return Replayed(resource, label, len(rows), len(left))


def by_slice(rows: Iterable[Row]) -> Mapping[tuple[str, str], list[Row]]:
    """Rows of the quarantine by resource and slice."""
    slices: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        slices[row["resource"], row["slice"]].append(row)
    return slices


def _sorted_out(
    runtime: Runtime, spec: ResourceSpec, school_id: int, rows: Sequence[Row]
) -> tuple[dict[int, int], dict[int, tuple[Contract, str | None]]]:
    """By their places in `rows`: the class, item or id to ask for, and the rows that can be read as they
    are."""
    resolve = resolver(runtime.lake, spec, school_id) if spec in BASE_DATA else lambda key: None
    named: dict[int, int] = {}
    readable: dict[int, tuple[Contract, str | None]] = {}
    for index, row in enumerate(rows):
        target = resolve(_object(row["raw"]))
        page = decode_page(b"[%b]" % row["raw"].encode(), spec.contract) if _object(row["raw"]) else None
        if target is not None:
            named[index] = target[1]
        elif page and page.rows and _is_whole(spec, page.rows[0]):
            readable[index] = (page.rows[0], page.extras[0])
    return named, readable


def _is_whole(spec: ResourceSpec, row: Contract) -> bool:
    """Whether a row says by itself which one it is, with nothing that the question or its neighbours add."""
    return spec.numbered is None and None not in row_key(row, spec.primary_key)


async def _load_from_quarantine(
    loader: Loader, spec: ResourceSpec, slice: Slice, readable: Mapping[int, tuple[Contract, str | None]]
) -> list[Loaded]:
    rows = [row for row, _ in readable.values()]
    trashed = [getattr(row, "deleted_at", None) is not None for row in rows]
    extras = [extra for _, extra in readable.values()]
    # No rows were requested, so that no missing row is gone.
    requested = {spec: RequestedRows(spec.primary_key[0], ())}
    context, loaded = loader.context(spec, slice), list[Loaded]()
    with failures_as_outcomes([context], loaded), staged([context]) as slices:
        slices[0].collector.add(Gathered(rows, extras, trashed, total=None))
        slices[0].collector.flush()
        loaded += await loader.commit(slices, requested)
    return loaded


def _object(raw: str) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _parts(label: str) -> tuple[int, int | None]:
    school, _, semester = label.partition(SEPARATOR)
    return int(school), int(semester) if semester else None


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["key"], row["reason"], row["raw"]
