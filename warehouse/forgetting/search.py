"""Proves an erasure: searches every file below a folder for names, numbers and ids of persons.

Parquet, DuckDB and SQLite are read table by table, workbooks and other archives member by member, all else as
text. The raw bytes and the name of every file are searched too, which covers freed pages and statistics. A
finding states the place and the kind, never the value.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
import tarfile
import zipfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warehouse.forgetting.columns import (
    MENTION_NAMES,
    MENTIONS,
    PERSON_FIELDS,
    SUBJECT_NAMES,
    SUBJECTS,
    V1,
    generation_of,
)
from warehouse.forgetting.forgotten import (
    TOKENS,
    blanked,
    folded_token,
    holds_name,
    id_spans,
    is_bounded,
    occurrences,
)
from warehouse.forgetting.identity import Person, variants
from warehouse.identifiers import folded, literal, quoted
from warehouse.lake.delta_log import LOG
from warehouse.lake.tables import SCHOOL_ID

#: The least bytes of a name or number that is searched in the raw bytes of files.
SHORTEST_BYTES = 6
#: The most bytes that a member of an archive may unpack to.
LARGEST = 1 << 30
NAME, NUMBER, ID = "a name", "a number or an address", "an id"
_PARQUET, _ZIP, _GZIP, _ZSTD, _SQLITE, _DUCKDB = (
    b"PAR1",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"SQLite format 3\x00",
    b"DUCK",
)


@dataclass(frozen=True)
class Finding:
    """A place that still names a person."""

    file: str
    #: The place in the file: a table and column, or a member of an archive.
    place: str
    #: a name, a number or an address, or an id.
    kind: str

    def __str__(self) -> str:
        return f"{self.file}{f', {self.place}' if self.place else ''}: {self.kind}"


@dataclass
class Searched:
    """The counts and findings of a search."""

    files: int = 0
    tables: int = 0
    bytes: int = 0
    findings: list[Finding] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Marks:
    """The names, tokens and ids that identify some persons."""

    names: frozenset[str]
    tokens: frozenset[str]
    v3: frozenset[int]
    v1: frozenset[int]

    @classmethod
    def of(cls, persons: Collection[Person], *, in_school: bool) -> _Marks:
        """The marks of persons; `in_school`: with marks that other schools use for others."""
        left_out = frozenset[str]()
        if not in_school:
            left_out = frozenset(text for person in persons for text in person.elsewhere)
        tokens = {token for person in persons for token in person.tokens}
        return cls(
            frozenset(name for person in persons for name in person.names) - left_out,
            frozenset(map(folded_token, tokens - left_out)),
            frozenset(id for person in persons for id in person.v3),
            frozenset(id for person in persons for id in person.v1),
        )

    @cached_property
    def ids(self) -> frozenset[int]:
        """The ids in both interfaces."""
        return self.v3 | self.v1

    @cached_property
    def escaped(self) -> set[str]:
        """Names as JSON, XML and HTML escape them, if that differs from the name."""
        return {name for name in variants(self.names) if "\\" in name or "&" in name} - self.names

    @cached_property
    def needles(self) -> set[str]:
        """Texts of which a text with a mark has at least one."""
        return variants(self.names | self.tokens) | {str(id) for id in self.ids}

    def kinds_in(self, text: str) -> set[str]:
        """The kinds of marks that a text contains."""
        kinds = set()
        if any(holds_name(text, name) for name in self.names) or any(name in text for name in self.escaped):
            kinds.add(NAME)
        if self.tokens and any(self.is_token(word[0]) for word in TOKENS.finditer(text)):
            kinds.add(NUMBER)
        if id_spans(text, self.is_id):
            kinds.add(ID)
        return kinds

    def ids_of(self, column: str, table: str) -> frozenset[int]:
        """The persons' ids that an integer column may have; none if the column names no person."""
        if not _may_name_person(column, table):
            return frozenset()
        is_v1 = folded(column).startswith("v1_") or (table and generation_of(table) == V1)
        return self.v1 if is_v1 else self.v3 or self.v1

    def is_token(self, word: str) -> bool:
        """Whether a word, or a part of it, is a number or an address of the persons."""
        whole = folded_token(word)
        return whole in self.tokens or any(part in self.tokens for part in re.split(r"[.@+\-_]+", whole))

    def is_id(self, digits: str) -> bool:
        """Whether a number is an id of the persons."""
        return int(digits) in self.ids


class Search:
    """Searches for some persons of a school. Marks that other schools use for others, such as student
    numbers, are searched only in places that tell the school."""

    def __init__(self, persons: Iterable[Person]) -> None:
        persons = list(persons)
        self._school_id = persons[0].school_id if persons else 0
        self._everywhere = _Marks.of(persons, in_school=False)
        self._in_school = _Marks.of(persons, in_school=True)
        left_out = {text for person in persons for text in person.elsewhere}
        texts = {text for person in persons for text in (*person.names, *person.tokens)} - left_out
        self._in_bytes = {
            text.encode(): NAME if text in self._everywhere.names else NUMBER
            for text in texts
            if len(text.encode()) >= SHORTEST_BYTES
        }

    @property
    def needles(self) -> set[str]:
        """Texts of which a text with a mark has at least one."""
        return self._everywhere.needles

    def file(self, path: Path, name: str, searched: Searched) -> None:
        """Search a file. A file that cannot be opened is listed as unread."""
        searched.files += 1
        # Ids are not searched in a file's name, since they would match times and random names.
        stem = name.removesuffix(path.suffix)
        places = {("its name", kind) for kind in self._everywhere.kinds_in(stem) if kind != ID}
        label = f"{self.cleaned(stem)}{path.suffix}" if places else name
        try:
            searched.bytes += path.stat().st_size
            places |= set(self._in_file(path, searched))
        except FileNotFoundError:
            return
        except (
            OSError,
            ValueError,
            duckdb.Error,
            sqlite3.Error,
            pa.ArrowException,
            zipfile.BadZipFile,
            EOFError,
        ) as error:
            searched.unread.append(f"{label}: {type(error).__name__}")
            return
        searched.findings += sorted((Finding(label, place, kind) for place, kind in places), key=str)

    def cleaned(self, text: str) -> str:
        """The text with the persons' marks blanked."""
        marks = self._everywhere
        spans = id_spans(text, marks.is_id)
        spans += [word.span() for word in TOKENS.finditer(text) if marks.is_token(word[0])]
        for name in marks.names:
            spans += [span for span in occurrences(text, name) if is_bounded(text, *span)]
        for name in marks.escaped:
            spans += occurrences(text, name)
        return blanked(text, spans)

    def cleaned_json(self, text: str) -> str:
        """The same for a text that may be JSON: only its strings change, so that it stays valid."""
        try:
            value = json.loads(text)
        except ValueError:
            return self.cleaned(text)
        new = self._cleaned_value(value)
        return text if new == value else json.dumps(new)

    def _cleaned_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.cleaned(key): self._cleaned_value(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._cleaned_value(part) for part in value]
        return self.cleaned(value) if isinstance(value, str) else value

    def _in_file(self, path: Path, searched: Searched) -> Iterator[tuple[str, str]]:
        with path.open("rb") as file:
            head = file.read(16)
        yield from self._in_raw(path)
        if path.parent.name == LOG:
            yield from self._in_log(path, _table_of(path), is_parquet=head.startswith(_PARQUET))
        elif head.startswith(_SQLITE):
            yield from self._in_sqlite(path, searched)
        elif head[8:12] == _DUCKDB:
            yield from self._in_duckdb(path, searched)
        elif head.startswith(_PARQUET):
            yield from self._in_parquet(pq.ParquetFile(path, pre_buffer=False), searched, path=path)
        else:
            yield from self.in_content(path.read_bytes(), "", searched)

    def _in_log(self, path: Path, table: str, *, is_parquet: bool) -> Iterator[tuple[str, str]]:
        """Search the log of a Delta table; the statistics of ids are judged by their columns."""
        marks = self._everywhere
        if is_parquet:
            actions = pq.read_table(path).to_pylist()
        else:
            actions = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
        for action in actions:
            # Numbers beside the statistics are sizes, times and partitions.
            yield from (("log", kind) for kind in _in_value(marks, "", action) if kind != ID)
            added = action.get("add") or {}
            if f"{SCHOOL_ID.name}={self._school_id}/" in str(added.get("path")):
                stats = json.loads(added.get("stats") or "{}")
                for part in ("minValues", "maxValues"):
                    for column, value in (stats.get(part) or {}).items():
                        if isinstance(value, int) and value in marks.ids_of(column, table):
                            yield f"log, column {column}", ID

    def _in_raw(self, path: Path) -> Iterator[tuple[str, str]]:
        longest = max(map(len, self._in_bytes), default=0)
        before = b""
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                block = before + block
                for needle, kind in self._in_bytes.items():
                    if self._stands_in_bytes(block, needle):
                        yield "bytes", kind
                before = block[-longest:]

    def _stands_in_bytes(self, block: bytes, needle: bytes) -> bool:
        at = block.find(needle)
        while at >= 0:
            around = block[max(0, at - 1) : at] + b"|" + block[at + len(needle) : at + len(needle) + 1]
            if not re.search(rb"[0-9A-Za-z]\||\|[0-9A-Za-z]", around):
                return True
            at = block.find(needle, at + 1)
        return False

    def in_content(self, content: bytes, place: str, searched: Searched) -> Iterator[tuple[str, str]]:
        """Unpack and search some bytes; yields places and kinds of findings."""
        if content.startswith(_PARQUET):
            yield from self._in_parquet(pq.ParquetFile(io.BytesIO(content)), searched, place)
        elif content.startswith((_GZIP, _ZSTD)):
            kind: Literal["gzip", "zstd"] = "gzip" if content.startswith(_GZIP) else "zstd"
            with pa.input_stream(pa.py_buffer(content), compression=kind) as stream:
                yield from self.in_content(_inflated(stream), f"{place} {kind}".strip(), searched)
        elif content.startswith(_ZIP):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                for member in archive.infolist():
                    with archive.open(member) as file:
                        yield from self.in_content(
                            _inflated(file), f"{place} {member.filename}".strip(), searched
                        )
        elif _is_tar(content):
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                for entry in archive:
                    opened = archive.extractfile(entry)
                    if opened is not None:
                        yield from self.in_content(
                            _inflated(opened), f"{place} {entry.name}".strip(), searched
                        )
        else:
            kinds = self._everywhere.kinds_in(content.decode("utf-8", "replace"))
            if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
                kinds |= self._everywhere.kinds_in(content.decode("utf-16", "replace"))
            elif b"\x00" not in content[:1000]:
                kinds |= self._everywhere.kinds_in(content.decode("gb18030", "replace"))
            yield from ((place, kind) for kind in kinds)

    def in_stored(self, text: str) -> set[str]:
        """The kinds of marks in a text that may be JSON, where a number is an id only under an id's name."""
        marks = self._everywhere
        if not text.startswith(("{", "[")):
            return marks.kinds_in(text)
        try:
            return set(_in_value(marks, "", json.loads(text)))
        except ValueError:
            return marks.kinds_in(text)

    def _in_parquet(
        self, file: pq.ParquetFile, searched: Searched, place: str = "", path: Path = Path()
    ) -> Iterator[tuple[str, str]]:
        searched.tables += 1
        table = _table_of(path)
        marks, has_ids = self._everywhere, True
        if folder := next((part for part in path.parts if part.startswith(f"{SCHOOL_ID.name}=")), ""):
            has_ids = folder == f"{SCHOOL_ID.name}={self._school_id}"
            marks = self._in_school if has_ids else marks
        with file:
            for value in (file.schema_arrow.metadata or {}).values():
                for kind in self._everywhere.kinds_in(value.decode("utf-8", "replace")):
                    yield f"{place} metadata".strip(), kind
            for batch in file.iter_batches(65_536, use_threads=False):
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    for kind in _in_column(marks, name, column, table):
                        if kind != ID or has_ids:
                            yield f"{place} column {name}".strip(), kind

    def _in_duckdb(self, path: Path, searched: Searched) -> Iterator[tuple[str, str]]:
        with closing(duckdb.connect(str(path), read_only=True)) as con:
            columns = con.execute(
                "SELECT schema_name, table_name, column_name, data_type FROM "
                "duckdb_columns() WHERE NOT internal"
            ).fetchall()
            tables: dict[tuple[str, str], list[tuple[str, str]]] = {}
            for schema, table, column, type in columns:
                tables.setdefault((schema, table), []).append((column, type))
            for (schema, table), named in tables.items():
                searched.tables += 1
                names = {column for column, _ in named}
                school = next((name for name in (SCHOOL_ID.name, "school_id") if name in names), None)
                for column, type in named:
                    place = f"{schema}.{table}.{column}"
                    for kind in self._in_duckdb_column(con, schema, table, column, type, school):
                        yield place, kind

    def _in_duckdb_column(
        self,
        con: duckdb.DuckDBPyConnection,
        schema: str,
        table: str,
        column: str,
        type: str,
        school: str | None,
    ) -> Iterator[str]:
        source = f"FROM {quoted(schema)}.{quoted(table)}"
        in_school = f"{quoted(school)} = {self._school_id}" if school else "true"
        if type in ("BIGINT", "INTEGER", "HUGEINT"):
            ids = self._everywhere.ids_of(column, table)
            has_id = f"{quoted(column)} IN ({', '.join(map(str, sorted(ids)))})"
            if ids and con.execute(f"SELECT 1 {source} WHERE {has_id} AND {in_school}").fetchall():
                yield ID
        elif "VARCHAR" in type or type == "JSON" or "STRUCT" in type or "[]" in type or "MAP" in type:
            for marks, condition in (
                (self._everywhere, "true"),
                (self._in_school, in_school if school else "false"),
            ):
                needles = {*marks.needles, *(needle.lower() for needle in marks.needles)}
                likely = " OR ".join(
                    f"contains(text, {literal(needle)}) OR contains(lower(text), {literal(needle)})"
                    for needle in needles
                )
                query = (
                    f"SELECT DISTINCT text FROM (SELECT CAST({quoted(column)} AS VARCHAR) AS text {source} "
                    f"WHERE {condition}) WHERE {likely or 'false'}"
                )
                for (text,) in con.execute(query).fetchall():
                    yield from marks.kinds_in(text)

    def _in_sqlite(self, path: Path, searched: Searched) -> Iterator[tuple[str, str]]:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as con:
            con.text_factory = lambda data: data.decode("utf-8", "replace")
            names = [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in names:
                searched.tables += 1
                cursor = con.execute(f"SELECT * FROM {quoted(table)}")
                columns = [column[0] for column in cursor.description or ()]
                for row in cursor:
                    for name, value in zip(columns, row, strict=True):
                        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                        if isinstance(text, str):
                            yield from ((f"{table}.{name}", kind) for kind in self.in_stored(text))


def _table_of(path: Path) -> str:
    """The table of a lake's data file: the folder of its partitions, or of its log."""
    folders = (part for part in reversed(path.parts[:-1]) if "=" not in part and part != LOG)
    return next(folders, "")


def _in_column(marks: _Marks, name: str, column: pa.Array[Any], table: str) -> Iterator[str]:
    if pa.types.is_nested(column.type):
        for value in column.to_pylist():
            yield from _in_value(marks, name, value)
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        for text in pc.unique(column).to_pylist():
            if text:
                yield from marks.kinds_in(text)
    elif pa.types.is_integer(column.type):
        ids = marks.ids_of(name, table)
        if ids and ids.intersection(pc.unique(column).to_pylist()):
            yield ID


def _in_value(marks: _Marks, name: str, value: Any, is_person: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        person = any(key in value for key in PERSON_FIELDS)
        for key, part in value.items():
            yield from marks.kinds_in(key)
            yield from _in_value(marks, key, part, person and key == "id")
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _in_value(marks, name, part, is_person)
    elif isinstance(value, str):
        yield from marks.kinds_in(value)
    elif (
        isinstance(value, int)
        and value in marks.ids
        and (is_person or folded(name) in SUBJECT_NAMES | MENTION_NAMES)
    ):
        yield ID


def _inflated(stream: Any) -> bytes:
    content: bytes = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError("more than a gigabyte when unpacked")
    return content


def _is_tar(content: bytes) -> bool:
    return content[257:262] == b"ustar"


def _may_name_person(column: str, table: str = "") -> bool:
    """Whether an integer column may have ids of persons, by its name or by its table's."""
    name = folded(column)
    if name in SUBJECT_NAMES | MENTION_NAMES or name in (
        "person_id",
        "v1_person_id",
        "v1_student_id",
        "pupil_id",
    ):
        return True
    return column in (*SUBJECTS.get(table, ()), *MENTIONS.get(table, ()))
