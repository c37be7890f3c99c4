"""Takes forgotten persons and schools out of the lake's tables and of their older versions.

Each slice is replaced in a commit of its own, which is tried again where another commit came first. A slice
that says nothing of them is not written. So a crash leaves whole tables, and the next attempt does the rest.
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
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warehouse.forgetting.columns import SUBJECTS, V1, V3, generation_of
from warehouse.forgetting.forgotten import NOT_STORED, Matcher
from warehouse.forgetting.scrub import Rules, cleaned_json, rules_of, scrubbed, without
from warehouse.lake.delta import Lake, held_schema, until_committed
from warehouse.lake.delta_log import LOG
from warehouse.lake.log_tables import (
    CHANGES,
    DIFFERENCES,
    DRIFT,
    LOAD_LOG,
    LOGS,
    PAST_ROWS,
    QUARANTINE,
    RECONCILIATION,
    STANDINGS,
    WRITES,
    Log,
)
from warehouse.lake.sql import BATCH_ROWS
from warehouse.lake.tables import EXTRA, PARTITION, SCHOOL_ID, Slice, Stored, Table
from warehouse.load.change_log import record_all_changes
from warehouse.load.delta_commit import replace as replace_slice
from warehouse.stores import told_plainly

#: What a commit of ours says of itself.
METADATA = {"forgotten": True}
#: Columns of logs that are words about a load, where an id may stand.
_WORDS = ("message", "measure", "value", "reason", "field")


@dataclass(frozen=True)
class Changed:
    """What changed in one table."""

    table: str
    #: Rows that are others than before.
    rows: int = 0
    #: Rows that are gone.
    removed: int = 0
    #: Data files that were written anew.
    files: int = 0


def forget_in_tables(
    lake: Lake, tables: Iterable[Table], school_id: int, matcher: Matcher, scratch: Path, *, apply: bool
) -> Iterator[Changed]:
    """Take the forgotten of a school out of tables of the platform's rows. apply: False only counts."""
    for table in tables:
        if not lake.holds(table):
            continue
        if table.tracks_changes and apply:
            # A change that is not logged yet is found by comparing files, and these are about to go.
            slices = [slice for slice in slices_of(lake, table) if slice.school_id == school_id]
            record_all_changes(lake, table, slices, scratch)
        yield _of_slices(
            lake,
            table,
            [slice for slice in slices_of(lake, table) if slice.school_id == school_id],
            rules_of(table, held_schema(lake.open(table))),
            matcher,
            apply=apply,
        )


def forget_in_logs(
    lake: Lake, tables: Mapping[str, Table], school_id: int, matcher: Matcher, *, apply: bool
) -> Iterator[Changed]:
    """Take the forgotten of a school out of the warehouse's own tables. After `forget_in_tables`, since a
    change in the log is known by its row."""
    own_keys = {name: _rows_about(lake, tables[name], school_id, matcher) for name in ("scores", "grades")}
    for log, clean in (
        (PAST_ROWS, partial(_past_row, matcher, tables)),
        (CHANGES, partial(_change, matcher, tables, own_keys)),
        (QUARANTINE, partial(_quarantined, matcher, tables)),
        (WRITES, partial(_write, matcher)),
        *((log, partial(_worded, matcher)) for log in (LOAD_LOG, DIFFERENCES, DRIFT, RECONCILIATION)),
    ):
        if lake.holds(log):
            yield _of_log(lake, log, school_id, clean, apply=apply)


def forget_school(lake: Lake, tables: Iterable[Stored], school_id: int, *, apply: bool) -> Iterator[Changed]:
    """Take all rows of a school out of tables and logs."""
    for table in tables:
        if not lake.holds(table) or SCHOOL_ID.name not in table.lake_schema.names:
            continue
        opened = lake.open(table)
        mine = pc.field(SCHOOL_ID.name) == school_id
        rows = lake.scan(table, opened, [SCHOOL_ID.name], mine).num_rows
        if rows and apply:
            until_committed(lambda table=table: lake.open(table).delete(f"{SCHOOL_ID.name} = {school_id}"))  # type: ignore[misc]
        yield Changed(table.name, removed=rows)


def purge(lake: Lake, table: Stored) -> int:
    """Delete what the present version of a table does not need: replaced data files, and older commits and
    checkpoints, whose statistics have values of rows. Returns how many files are gone. The caller must be
    alone in the lake."""
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
        with told_plainly():
            obstore.delete(lake.objects, old)
    return gone + len(old)


def slices_of(lake: Lake, table: Stored) -> list[Slice]:
    """The slices of a table that have files, by the folders of these."""
    return [_slice(folder) for folder, names in sorted(lake.table_state(table).names.items()) if names]


def _version_of(name: str) -> float:
    """The version that a file of a table's log is of; infinite where its name says none: it stays."""
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
        replace_slice(lake, held_as(table, table_state.schema), slice, table_state, rows, {}, METADATA)
    return changed


def held_as(table: Stored, schema: pa.Schema) -> Stored:
    """A table with every column that the lake has of it, in the lake's order."""
    return _Held(table.name, table.folder, table.comment, table.slice_columns, schema.remove_metadata())


@dataclass(frozen=True)
class _Held:
    name: str
    folder: str
    comment: str
    slice_columns: tuple[str, ...]
    lake_schema: pa.Schema


def batches_of(files: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of files with all columns of a table: what was added after a file was written is null."""
    for path in files:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            held = [name for name in schema.names if name in file.schema_arrow.names]
            for batch in file.iter_batches(BATCH_ROWS, columns=held, use_threads=False):
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
    """Clean the rows of a log's slice. A log that is not filed by school has rows of others, which stay as
    they are."""
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
    found = changed
    if found and apply:
        replace_slice(lake, log, slice, table_state, map(cleaned, batches_of(files, schema)), {}, METADATA)
    return found


def _cleaned_row(row: Row, fixed: Mapping[str, Any], school_id: int, clean: Clean) -> Row:
    whole = {**fixed, **row}
    if whole.get(SCHOOL_ID.name) != school_id:
        return row
    new = clean(whole)
    return {name: new[name] for name in row}


def _rows_about(lake: Lake, table: Table, school_id: int, matcher: Matcher) -> frozenset[str]:
    """The ids, as text, of the rows of a table that are about the forgotten."""
    if not lake.holds(table):
        return frozenset()
    [owner] = SUBJECTS[table.name]
    known = [*matcher.substitutes]
    rows = lake.scan(table, lake.open(table), ["id", owner], None, Slice.of(_school_id=school_id))
    pairs = zip(rows["id"].to_pylist(), rows[owner].to_pylist(), strict=True)
    return frozenset(
        str(id)
        for id, whose in pairs
        if whose in known
        or (whose is not None and matcher.find(generation_of(table.name), str(whose)) is not None)
    )


def _past_row(matcher: Matcher, tables: Mapping[str, Table], row: Row) -> Row:
    """A row as it was: a JSON object of its columns, each as text."""
    table = tables.get(row["resource"])
    if row["row"] is None or table is None:
        return row
    held = json.loads(row["row"])
    rules = rules_of(table, table.row_schema)
    subject = next(
        (
            substitute
            for name in rules.subjects
            if (substitute := _id_in(held, name, rules, matcher)) is not None
        ),
        None,
    )
    new: Row = {}
    for name, value in held.items():
        if name in rules.subjects or name in rules.mentions:
            substitute = _id_in(held, name, rules, matcher)
            new[name] = value if substitute is None else str(substitute)
        elif subject is not None and name in rules.personal:
            new[name] = None
        elif isinstance(value, str) and not (name.startswith("_") and name != EXTRA):
            new[name] = matcher.cleaned(value)
        else:
            new[name] = value
    return row if new == held else {**row, "row": json.dumps(new, ensure_ascii=False, separators=(",", ":"))}


def _id_in(held: Row, name: str, rules: Rules, matcher: Matcher) -> int | None:
    value = held.get(name)
    if value is None:
        return None
    return matcher.find(rules.generation, str(value).strip())


def _change(
    matcher: Matcher, tables: Mapping[str, Table], own_keys: Mapping[str, Collection[str]], row: Row
) -> Row:
    """A change of a score or grade: of the forgotten's rows the personal fields lose their values."""
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
    """The primary key of a row in quarantine, without ids of the forgotten."""
    subjects, generation = SUBJECTS.get(table.name, ()), generation_of(table.name)
    found = []
    for name, value in zip(table.primary_key, key, strict=False):
        substitute = matcher.find(generation, str(value)) if name in subjects else None
        found.append(value if substitute is None else substitute)
    return found


def raw_without(matcher: Matcher, resource: str, raw: str) -> str:
    """The JSON of a row in quarantine, or NOT_STORED where it says anything of the forgotten. The row itself
    stays, since a slice balances with it."""
    if is_about(raw, resource, matcher) or cleaned_json(raw, matcher, generation_of(resource)) != raw:
        return NOT_STORED
    return raw


def is_about(raw: str, resource: str, matcher: Matcher) -> bool:
    """Whether the JSON of a row says that it is about a forgotten person."""
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


def _write(matcher: Matcher, row: Row) -> Row:
    return {**row, **written(matcher, row)}


def written(matcher: Matcher, row: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a write without the forgotten. One that was about such a person loses what was sent and
    answered."""
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
    """Whether the JSON of a request or an answer is a forgotten person's."""
    if not text:
        return False
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and without(value, matcher, V1) != value


def _ids_of(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for name in ("sent", "answer"):
        try:
            value = json.loads(row[name] or "null")
        except ValueError:
            continue
        if isinstance(value, dict):
            found += [
                (kind, str(value[key]))
                for key in ("id", "rid", "student_id")
                if value.get(key)
                for kind in (V1, V3)
            ]
    return found


def _worded(matcher: Matcher, row: Row) -> Row:
    return {
        name: matcher.cleaned_words(value) if name in _WORDS and isinstance(value, str) and value else value
        for name, value in row.items()
    }


#: All tables of the warehouse's own rows whose older versions are purged.
OWN_LOGS: tuple[Log, ...] = (*LOGS, STANDINGS)
