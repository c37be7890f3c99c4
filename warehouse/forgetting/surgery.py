"""Erases forgotten persons and schools from the lake's tables and from their older versions.

Each changed slice is replaced in a commit of its own, with retries on conflicts. So a crash leaves every
table consistent, and the next attempt does the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.forgetting.columns import SUBJECTS, V1, V3, generation_of
from warehouse.forgetting.forgotten import NOT_STORED, Matcher
from warehouse.forgetting.scrub import Rules, cleaned_json, rules_of, scrubbed, without
from warehouse.lake.delta import Lake, stored_schema, until_committed
from warehouse.lake.delta_log import LOG
from warehouse.lake.logs.tables import (
    CHANGES,
    DIFFERENCES,
    DRIFT,
    LOAD_LOG,
    PAST_ROWS,
    PUBLISHED_LEVELS,
    QUARANTINE,
    RECONCILIATION,
    WRITES,
    Log,
)
from warehouse.lake.sql import BATCH_ROWS
from warehouse.lake.tables import EXTRA, PARTITION, SCHOOL_ID, Slice, Stored, Table, school_filter
from warehouse.load.delta_commit import replace as replace_slice
from warehouse.load.history.change_log import record_all_changes
from warehouse.stores import store_errors_as_os_errors

#: The metadata of a commit that erases rows.
METADATA = {"forgotten": True}
#: Columns of logs with messages about a load, which may contain an id.
_WORDS = ("message", "measure", "value", "reason", "field")


@dataclass(frozen=True)
class Changed:
    """The changes in a table."""

    table: str
    #: Rows that changed.
    rows: int = 0
    #: Rows that were deleted.
    removed: int = 0
    #: Slices that were written anew.
    files: int = 0


def forget_in_tables(
    lake: Lake, tables: Iterable[Table], school_id: int, matcher: Matcher, scratch: Path, *, apply: bool
) -> Iterator[Changed]:
    """Erase the forgotten persons of a school from tables of the platform's rows. Without `apply`, only
    counts."""
    for table in tables:
        if not lake.holds(table):
            continue
        if table.tracks_changes and apply:
            # Changes that are not logged yet are found by comparing files, which are about to be deleted.
            slices = [slice for slice in slices_of(lake, table) if slice.school_id == school_id]
            record_all_changes(lake, table, slices, scratch)
        yield _of_slices(
            lake,
            table,
            [slice for slice in slices_of(lake, table) if slice.school_id == school_id],
            rules_of(table, stored_schema(lake.open(table))),
            matcher,
            apply=apply,
        )


def forget_in_logs(
    lake: Lake, tables: Mapping[str, Table], school_id: int, matcher: Matcher, *, apply: bool
) -> Iterator[Changed]:
    """Erase the forgotten persons of a school from the logs. Call it after `forget_in_tables`: a logged
    change is matched by its row's id, which stays."""
    own_keys = {name: _rows_about(lake, tables[name], school_id, matcher) for name in ("scores", "grades")}
    for log, clean in (
        (PAST_ROWS, partial(_past_row, matcher, tables)),
        (CHANGES, partial(_change, matcher, tables, own_keys)),
        (QUARANTINE, partial(_quarantined, matcher, tables)),
        (WRITES, partial(_write, matcher)),
        (PUBLISHED_LEVELS, partial(_level, matcher)),
        *((log, partial(_worded, matcher)) for log in (LOAD_LOG, DIFFERENCES, DRIFT, RECONCILIATION)),
    ):
        if lake.holds(log):
            yield _of_log(lake, log, school_id, clean, apply=apply)


def forget_school(lake: Lake, tables: Iterable[Stored], school_id: int, *, apply: bool) -> Iterator[Changed]:
    """Delete all rows of a school from tables and logs."""
    for table in tables:
        if not lake.holds(table) or SCHOOL_ID.name not in table.lake_schema.names:
            continue
        opened = lake.open(table)
        rows = lake.scan(table, opened, [SCHOOL_ID.name], school_filter([school_id])).num_rows
        if rows and apply:
            until_committed(lambda table=table: lake.open(table).delete(f"{SCHOOL_ID.name} = {school_id}"))  # type: ignore[misc]
        yield Changed(table.name, removed=rows)


def purge(lake: Lake, table: Stored) -> int:
    """Delete everything that a table's present version does not need; returns the number of deleted files.

    Those are replaced data files, and older commits and checkpoints, whose statistics have values of rows. No
    other process may use the lake meanwhile."""
    opened = lake.reopened(table)
    gone = len(opened.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True))
    opened = lake.reopened(table)
    opened.create_checkpoint()
    version = opened.version()
    prefix = f"{table.folder}/{LOG}/"
    old = [
        entry["path"]
        for page in obstore.list(lake.objects, prefix)
        for entry in page
        if _version_of(entry["path"].removeprefix(prefix)) < version
    ]
    if old:
        with store_errors_as_os_errors():
            obstore.delete(lake.objects, old)
    return gone + len(old)


def slices_of(lake: Lake, table: Stored) -> list[Slice]:
    """The slices of a table that have files."""
    return [_slice(folder) for folder, names in sorted(lake.table_state(table).names.items()) if names]


def _version_of(name: str) -> float:
    """The version of a file of a table's log; infinite if its name has none, so that the file stays."""
    digits = name.partition(".")[0]
    return int(digits) if digits.isdecimal() else float("inf")


def _slice(folder: str) -> Slice:
    parts = (part.partition("=") for part in folder.split("/") if part)
    return Slice(tuple((name, _value(name, value)) for name, _, value in parts))


def _value(name: str, value: str) -> int | str:
    return value if name in (PARTITION, "resource", "_month") else int(value)


def _of_slices(
    lake: Lake, table: Stored, slices: Sequence[Slice], rules: Rules, matcher: Matcher, *, apply: bool
) -> Changed:
    rows = files = 0
    for slice in slices:
        changed = until_committed(partial(_in_slice, lake, table, slice, rules, matcher, apply=apply))
        rows, files = rows + changed, files + bool(changed)
    return Changed(table.name, rows=rows, files=files)


def _in_slice(lake: Lake, table: Stored, slice: Slice, rules: Rules, matcher: Matcher, *, apply: bool) -> int:
    table_state = lake.table_state(table)
    schema = pa.schema([field for field in table_state.schema if field.name not in table.slice_columns])
    files = lake.readable(table, table_state.files(slice))
    changed = sum(scrubbed(batch, rules, matcher)[1] for batch in batches_of(files, schema))
    if changed and apply:
        rows = (scrubbed(batch, rules, matcher)[0] for batch in batches_of(files, schema))
        replace_slice(
            lake, with_stored_schema(table, table_state.schema), slice, table_state, rows, {}, METADATA
        )
    return changed


def with_stored_schema(table: Stored, schema: pa.Schema) -> Stored:
    """The table with all of its columns in the lake, in the lake's order."""
    return _StoredTable(
        table.name, table.folder, table.comment, table.slice_columns, schema.remove_metadata()
    )


@dataclass(frozen=True)
class _StoredTable:
    name: str
    folder: str
    comment: str
    slice_columns: tuple[str, ...]
    lake_schema: pa.Schema


def batches_of(files: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of files with all columns of a table; columns added after a file was written are null."""
    for path in files:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            present = [name for name in schema.names if name in file.schema_arrow.names]
            for batch in file.iter_batches(BATCH_ROWS, columns=present, use_threads=False):
                columns = {name: batch.column(name) for name in batch.schema.names}
                arrays = [
                    columns[field.name].cast(field.type)
                    if field.name in columns
                    else pa.nulls(batch.num_rows, field.type)
                    for field in schema
                ]
                yield pa.RecordBatch.from_arrays(
                    arrays, schema=pa.schema([f.remove_metadata() for f in schema])
                )


Row = dict[str, Any]
Clean = Callable[[Row], Row]


def _of_log(lake: Lake, log: Log, school_id: int, clean: Clean, *, apply: bool) -> Changed:
    rows = files = 0
    for slice in slices_of(lake, log):
        if dict(slice.values).get(SCHOOL_ID.name, school_id) == school_id:
            changed = until_committed(partial(_in_log, lake, log, slice, school_id, clean, apply=apply))
            rows, files = rows + changed, files + bool(changed)
    return Changed(log.name, rows=rows, files=files)


def _in_log(lake: Lake, log: Log, slice: Slice, school_id: int, clean: Clean, *, apply: bool) -> int:
    """Clean a school's rows in a log's slice. In a log that is not divided by school, others' rows stay."""
    table_state = lake.table_state(log)
    fixed = {name: value for name, value in slice.values if name in log.row_schema.names}
    schema = pa.schema([field for field in log.lake_schema if field.name not in log.slice_columns])
    changed = 0

    def cleaned(batch: pa.RecordBatch) -> pa.RecordBatch:
        nonlocal changed
        before = batch.to_pylist()
        after = [_cleaned_row(row, fixed, school_id, clean) for row in before]
        differing = sum(a != b for a, b in zip(before, after, strict=True))
        changed += differing
        return pa.RecordBatch.from_pylist(after, schema=schema) if differing else batch

    files = lake.readable(log, table_state.files(slice))
    for batch in batches_of(files, schema):
        cleaned(batch)
    total = changed
    if total and apply:
        replace_slice(lake, log, slice, table_state, map(cleaned, batches_of(files, schema)), {}, METADATA)
    return total


def _cleaned_row(row: Row, fixed: Mapping[str, Any], school_id: int, clean: Clean) -> Row:
    whole = {**fixed, **row}
    if whole.get(SCHOOL_ID.name) != school_id:
        return row
    new = clean(whole)
    return {name: new[name] for name in row}


def _rows_about(lake: Lake, table: Table, school_id: int, matcher: Matcher) -> frozenset[str]:
    """The ids, as text, of the rows of a table about forgotten persons."""
    if not lake.holds(table):
        return frozenset()
    [owner] = SUBJECTS[table.name]
    rows = lake.scan(table, lake.open(table), ["id", owner], None, Slice.of(_school_id=school_id))
    pairs = zip(rows["id"].to_pylist(), rows[owner].to_pylist(), strict=True)
    return frozenset(
        str(id)
        for id, whose in pairs
        if whose in matcher.substitutes
        or (whose is not None and matcher.find(generation_of(table.name), str(whose)) is not None)
    )


def _past_row(matcher: Matcher, tables: Mapping[str, Table], row: Row) -> Row:
    """Clean a past row: a JSON object of its columns, each as text."""
    table = tables.get(row["resource"])
    if row["row"] is None or table is None:
        return row
    past = json.loads(row["row"])
    rules = rules_of(table, table.row_schema)
    substitutes = (_substitute_in(past, name, rules, matcher) for name in rules.subjects)
    subject = next((substitute for substitute in substitutes if substitute is not None), None)
    new: Row = {}
    for name, value in past.items():
        if name in rules.subjects or name in rules.mentions:
            substitute = _substitute_in(past, name, rules, matcher)
            new[name] = value if substitute is None else str(substitute)
        elif subject is not None and name in rules.personal:
            new[name] = None
        elif isinstance(value, str) and not (name.startswith("_") and name != EXTRA):
            new[name] = matcher.cleaned(value)
        else:
            new[name] = value
    return row if new == past else {**row, "row": json.dumps(new, ensure_ascii=False, separators=(",", ":"))}


def _substitute_in(past: Row, name: str, rules: Rules, matcher: Matcher) -> int | None:
    value = past.get(name)
    if value is None:
        return None
    return matcher.find(rules.generation, str(value).strip())


def _change(
    matcher: Matcher, tables: Mapping[str, Table], own_keys: Mapping[str, Collection[str]], row: Row
) -> Row:
    """Clean a logged change of a score or grade: personal fields of rows about the forgotten lose values."""
    table, field = tables.get(row["resource"]), row["field"]
    if table is None or field is None:
        return row
    rules = rules_of(table, table.row_schema)
    values = {name: row[name] for name in ("before", "after")}
    if field in rules.subjects or field in rules.mentions:
        values = {name: _replaced(value, rules.generation, matcher) for name, value in values.items()}
    elif field in rules.personal and row["key"] in own_keys.get(row["resource"], ()):
        values = dict.fromkeys(values)
    else:
        values = {name: value and matcher.cleaned(value) for name, value in values.items()}
    return {**row, **values}


def _replaced(value: str | None, generation: str, matcher: Matcher) -> str | None:
    substitute = None if value is None else matcher.find(generation, value.strip())
    return value if substitute is None else str(substitute)


def _quarantined(matcher: Matcher, tables: Mapping[str, Table], row: Row) -> Row:
    table = tables.get(row["resource"])
    key = row["key"]
    if key is not None and table is not None:
        key = json.dumps(key_without(matcher, table, json.loads(key)), ensure_ascii=False)
    return {
        **row,
        "key": key,
        "raw": row["raw"] and raw_without(matcher, row["resource"], row["raw"]),
        "reason": row["reason"] and matcher.cleaned_words(row["reason"]),
    }


def key_without(matcher: Matcher, table: Table, key: Sequence[Any]) -> list[Any]:
    """The primary key of a row in quarantine, with substitutes for ids of the forgotten."""
    subjects, generation = SUBJECTS.get(table.name, ()), generation_of(table.name)
    cleaned = []
    for name, value in zip(table.primary_key, key, strict=False):
        substitute = matcher.find(generation, str(value)) if name in subjects else None
        cleaned.append(value if substitute is None else substitute)
    return cleaned


def raw_without(matcher: Matcher, resource: str, raw: str) -> str:
    """The JSON of a row in quarantine, or NOT_STORED if it names a forgotten person. The row itself stays, so
    that the slice balances."""
    if is_about(raw, resource, matcher) or cleaned_json(raw, matcher, generation_of(resource)) != raw:
        return NOT_STORED
    return raw


def is_about(raw: str, resource: str, matcher: Matcher) -> bool:
    """Whether the JSON of a row is about a forgotten person."""
    try:
        value = json.loads(raw)
    except ValueError:
        return False
    if not isinstance(value, dict):
        return False
    generation = generation_of(resource)
    names = (*SUBJECTS.get(resource, ()), "student", "reflection")
    sent = [value.get(name) for name in names]
    ids = [part.get(n) for part in sent if isinstance(part, dict) for n in ("id", "rid")]
    ids += [part for part in sent if isinstance(part, int | str) and not isinstance(part, bool)]
    return any(id is not None and matcher.find(generation, str(id).strip()) is not None for id in ids)


def _level(matcher: Matcher, row: Row) -> Row:
    """Replace the id in a published level: a v3 id, or the v1 id of a student whom only v1 has."""
    ids = (matcher.find(generation, str(row["student_id"])) for generation in (V3, V1))
    return {**row, "student_id": next((id for id in ids if id is not None), row["student_id"])}


def _write(matcher: Matcher, row: Row) -> Row:
    return {**row, **written(matcher, row)}


def written(matcher: Matcher, row: Mapping[str, Any]) -> dict[str, Any]:
    """Clean the record of a write. A write about a forgotten person loses what was sent and answered."""
    first, _, rest = (row["target"] or "").partition(" ")
    substitute = (
        matcher.find(V1, first) if "user" in row["operation"] or "student" in row["operation"] else None
    )
    subject = substitute or matcher.identifies(row["row"] or "")
    sent = {name: row[name] and cleaned_json(row[name], matcher, V1) for name in ("sent", "answer")}
    is_single = not (row["sent"] or "").lstrip().startswith("[")
    if subject is None and is_single and any(_about_user(row[name], matcher) for name in ("sent", "answer")):
        subject = matcher.any_of(_ids_of(row)) or 0
    if subject is not None:
        sent = {name: row[name] and NOT_STORED for name in sent}
    target = " ".join(filter(None, (str(substitute) if substitute is not None else first, rest)))
    return {
        "target": _clean_or_blank(matcher, target),
        "row": _clean_or_blank(matcher, row["row"]),
        "source": _clean_or_blank(matcher, row["source"]),
        **sent,
    }


def _clean_or_blank(matcher: Matcher, text: str | None) -> str | None:
    return text and matcher.cleaned_words(text)


def _about_user(text: str | None, matcher: Matcher) -> bool:
    """Whether the JSON of a request or an answer names a forgotten person."""
    if not text:
        return False
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and without(value, matcher, V1) != value


def _ids_of(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    ids = []
    for name in ("sent", "answer"):
        try:
            value = json.loads(row[name] or "null")
        except ValueError:
            continue
        if isinstance(value, dict):
            ids += [
                (kind, str(value[key]))
                for key in ("id", "rid", "student_id")
                if value.get(key)
                for kind in (V1, V3)
            ]
    return ids


def _worded(matcher: Matcher, row: Row) -> Row:
    return {
        name: matcher.cleaned_words(value) if name in _WORDS and isinstance(value, str) and value else value
        for name, value in row.items()
    }
