"""Stores the decoded pages of a reading on disk, until the reading is proven to be complete."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from campus.account import BadRow, Drift
from campus.decoding.columnar import Records


@dataclass(frozen=True)
class Page:
    """A page on disk."""

    # Of its batch in the file.
    number: int
    # A hash a row, since the keys of the whole reading are in memory.
    keys: list[int]
    bad: list[BadRow]
    drift: Counter[Drift]


class Pages:
    """The pages of one reading, with the same columns, in a file that lives as long as the `with` block."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.NamedTemporaryFile(suffix=".arrow", dir=folder)  # noqa: SIM115, __exit__ closes it
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._written = 0

    def put(self, records: Records, key: tuple[str, ...]) -> Page:
        """Store a decoded page."""
        if self._writer is None:
            self._writer = pa.ipc.new_file(self._file.name, records.batch.schema)
        self._writer.write_batch(records.batch)
        self._written += 1
        return Page(self._written - 1, _keys(records, key), records.bad, records.drift)

    def get(self, pages: Sequence[Page]) -> Iterator[Records]:
        """Read pages back. No page can be stored afterwards."""
        self._close()
        if not pages:
            return
        with pa.OSFile(self._file.name, "rb") as source:
            reader = pa.ipc.open_file(source)
            for page in pages:
                yield Records(reader.get_batch(page.number), page.bad, page.drift)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._file.close()


def _keys(records: Records, key: tuple[str, ...]) -> list[int]:
    """A hash for each row: of its key, or without a key of all its values."""
    batch = records.batch.select(key) if key else records.batch
    columns = [column.to_pylist() for column in batch.columns]
    sent = [*zip(*columns, strict=True), *((bad.raw,) for bad in records.bad)]
    return [hash(repr(values)) for values in sent]
