"""Loads without a framework: the floor, and a hand-written loop."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import polars as pl

from benchmarks.datasets.source import Job, Loaded, connect, headers, pages

Schema = dict[str, pl.DataType | type[pl.DataType]]

AS_SENT: Schema = {
    "id": pl.Int64,
    "student_no": pl.String,
    "student_id": pl.Int64,
    "student_name": pl.String,
    "course": pl.String,
    "teacher_name": pl.String,
    "semester_id": pl.Int64,
    "score": pl.String,
    "rate": pl.String,
    "rank": pl.Int64,
    "level": pl.String,
    "term": pl.Int64,
    "passed": pl.Boolean,
    "exam_date": pl.String,
    "remark": pl.String,
    "submitted_at": pl.String,
    "created_at": pl.String,
    "updated_at": pl.String,
}
TYPED: Schema = AS_SENT | {
    "score": pl.Decimal(6, 2),
    "rate": pl.Decimal(10, 6),
    "exam_date": pl.Date,
    "submitted_at": pl.Datetime("us"),
    "created_at": pl.Datetime("us"),
    "updated_at": pl.Datetime("us"),
}


def floor(job: Job) -> Loaded:
    """Fetch the pages and drop them."""

    def read(client: httpx.Client, first: int, last: int) -> None:
        for _ in pages(client, first, last):
            pass

    _on_threads(job, read)
    return Loaded()


def loop(job: Job) -> Loaded:
    """httpx, polars.read_json and a Parquet file for each range; decimals and times stay text."""
    return _to_parquet(job, AS_SENT)


def typed_loop(job: Job) -> Loaded:
    """The same, with the types of the metadata, as in this sync."""
    return _to_parquet(job, TYPED)


def _to_parquet(job: Job, schema: Schema) -> Loaded:
    def read(client: httpx.Client, first: int, last: int) -> None:
        frames = [pl.read_json(body, schema=schema) for body in pages(client, first, last)]
        if frames:
            pl.concat(frames).write_parquet(Path(job.folder) / f"{first:012}.parquet")

    _on_threads(job, read)
    return Loaded(relation=f"read_parquet('{job.folder}/*.parquet')")


def _on_threads(job: Job, read: Callable[[httpx.Client, int, int], None]) -> None:
    waiting = iter(job.ranges())
    with_headers = headers()

    def work(_thread: int) -> None:
        with connect(with_headers) as client:
            for first, last in waiting:
                read(client, first, last)

    with ThreadPoolExecutor(job.in_flight) as threads:
        list(threads.map(work, range(job.in_flight)))
