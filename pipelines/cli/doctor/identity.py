"""The doctor's finding about identity numbers in logs that are older than their withholding."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec
import pyarrow.parquet as pq

from campus.decoding.withholding import withhold_in_row
from campus.identity_numbers import is_identity_field, may_hold_identity_number
from campus.registry import RESOURCES
from pipelines.cli.doctor.findings import Finding
from pipelines.settings.settings import Settings
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES, PAST_ROWS, QUARANTINE, Log
from warehouse.lake.tables import EXTRA

#: The logs with values of earlier rows, and the columns of these values.
TEXTS: Mapping[Log, tuple[str, ...]] = {
    PAST_ROWS: ("row",),
    CHANGES: ("field", "before", "after"),
    QUARANTINE: ("resource", "raw"),
}
#: Names in JSON, also in JSON inside a JSON string.
_NAME = re.compile(rb'"((?:[^"\\]|\\+u[0-9A-Fa-f]{4}){1,60})\\?"\s*:')
_ESCAPED = re.compile(r"\\+u([0-9A-Fa-f]{4})")
BATCH = 10_000


def examine_identity_numbers(settings: Settings, lake: Lake) -> Finding | None:
    """The logs of the lake that have identity numbers; None: no log has any, or the settings keep them."""
    if settings.keep_id_numbers:
        return None
    counts: Counter[str] = Counter()
    for table, columns in TEXTS.items():
        for school, resource, count in _numbers_in(lake, table, columns) if lake.holds(table) else ():
            counts[f"quality.{table.name} of school {school}, {resource}"] += count
    if not counts:
        return None
    places = ", ".join(f"{place} ({count:,} rows)" for place, count in sorted(counts.items()))
    return Finding(
        False,
        f"Rows that were loaded before identity numbers were withheld still have them: {places}. Set "
        "retention.history_days in campus.yaml, so that nights delete old past rows and changes, or load "
        "into a new home. Rows leave the quarantine once they are loaded: campus sync --full.",
    )


def _numbers_in(lake: Lake, table: Log, columns: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    """For each part of a table with identity numbers: the school, the resource and the number of rows."""
    for path in lake.files(table):
        parts = dict(part.split("=", 1) for part in path.split("/") if "=" in part)
        place = {name: unquote(value) for name, value in parts.items()}
        for batch in pq.ParquetFile(path).iter_batches(BATCH, columns=list(columns)):
            rows = batch.to_pylist()
            if not _may_have_numbers(rows):
                continue
            counts = Counter(
                resource
                for row in rows
                if _has_number(resource := row.get("resource") or place.get("resource", ""), row)
            )
            yield from ((place["_school_id"], resource, count) for resource, count in counts.items())


def _may_have_numbers(rows: list[dict[str, Any]]) -> bool:
    """Whether any row may have a number, or a field named as one: a fast check of all rows at once."""
    text = "\n".join(value for row in rows for value in row.values() if value).encode()
    names = {_unescaped(name.decode(errors="replace")) for name in set(_NAME.findall(text))}
    names |= {row["field"] for row in rows if row.get("field")}
    return may_hold_identity_number(text) or any(map(is_identity_field, names))


def _unescaped(name: str) -> str:
    return _ESCAPED.sub(lambda letter: chr(int(letter[1], 16)), name)


def _has_number(resource: str, row: Mapping[str, Any]) -> bool:
    """Whether a row of a log has an identity number, by the name of a field or by value. Ids are none."""
    spec = RESOURCES.get(resource)
    contract = spec.contract if spec else None
    texts = [row[name] for name in ("row", "raw") if row.get(name)]
    if row.get("field"):
        texts += [
            msgspec.json.encode({row["field"]: row[name]}).decode()
            for name in ("before", "after")
            if row[name]
        ]
    for text in texts:
        if withhold_in_row(text.encode(), contract)[1]:
            return True
        extra = _extra_of(text)
        if extra and withhold_in_row(extra.encode(), None)[1]:
            return True
    return False


def _extra_of(text: str) -> str:
    """The extra fields of a past row as JSON; empty: none."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any]).get(EXTRA) or ""
    except msgspec.DecodeError:
        return ""
