"""Loads with dlt in three ways into DuckDB. Runs in its own environment (benchmarks/requirements.lock)."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dlt
import polars as pl
import pyarrow as pa
from dlt.sources.helpers.rest_client.paginators import BasePaginator
from dlt.sources.rest_api import rest_api_source
from requests import Request, Response

from benchmarks.datasets.source import DATASET, PAGE, RECORDS, Job, Loaded, base_url, connect, headers, pages

SCHEMA = "school"


class IdSegment(BasePaginator):
    """The specification's procedure: the next id_egt is the last id plus one, until there are no rows."""

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Store the first id of the next page."""
        self._has_next_page = bool(data)
        if data:
            self._next = data[-1]["id"] + 1

    def update_request(self, request: Request) -> None:
        """Request the next page."""
        request.params["id_egt"] = self._next  # type: ignore[index]


def arrow(job: Job) -> Loaded:
    """A resource that yields Arrow tables, its ranges read side by side, through dlt's Parquet loader."""
    with_headers = headers()

    @dlt.resource(name="ranges")
    def ranges() -> Iterator[tuple[int, int]]:
        yield from job.ranges()

    @dlt.transformer(data_from=ranges, name=DATASET, write_disposition="replace", parallelized=True)
    def records(span: tuple[int, int]) -> Iterator[pa.Table]:
        with connect(with_headers) as client:
            for body in pages(client, *span):
                yield pl.read_json(body).to_arrow()

    os.environ["EXTRACT__WORKERS"] = str(job.in_flight)
    return _run(job, records, loader_file_format="parquet")


def rest_api_parquet(job: Job) -> Loaded:
    """The declarative source through the Parquet loader."""
    return _run(job, _rest_api(job), loader_file_format="parquet")


def rest_api(job: Job) -> Loaded:
    """The declarative source with its defaults and DuckDB's default loader (INSERT of values)."""
    return _run(job, _rest_api(job))


def _rest_api(job: Job) -> Any:
    params = {"id_egt": 0, "id_elt": job.last_id, "sort": "id", "paginated": 0, "limit": PAGE}
    endpoint = {"path": RECORDS, "params": params, "paginator": IdSegment()}
    return rest_api_source(
        {
            "client": {"base_url": base_url(), "headers": headers()},
            "resource_defaults": {"write_disposition": "replace"},
            "resources": [{"name": DATASET, "endpoint": endpoint}],
        }
    )


def _run(job: Job, data: Any, **options: Any) -> Loaded:
    database = Path(job.folder) / "loaded.duckdb"
    pipeline = dlt.pipeline(
        "benchmark",
        pipelines_dir=job.folder,
        destination=dlt.destinations.duckdb(str(database)),
        dataset_name=SCHEMA,
    )
    pipeline.run(data, **options).raise_on_failed_jobs()
    return Loaded(str(database), f"{SCHEMA}.{DATASET}")
