"""Loads results of reports, several results of a report at a time: each as a whole, with the fields that came
with it."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from campus.account import Account
from campus.contracts.fields import Contract, fields
from campus.fetch.collection import run_together
from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.http.errors import CampusError, PlatformUnavailable
from campus.http.events import Event, Listener
from campus.registry import REPORT_FIELDS, REPORT_PARAMETERS, REPORT_QUERIES
from campus.reports.metadata import changed_fields, read_report
from campus.reports.records import read_records
from campus.reports.selection import ReportRequest, ReportSelectionError
from campus.sources.gathered import Collector
from loading.connection.connected import connected
from loading.connection.runtime import Runtime
from loading.reports.plans import error_lines, requests_of
from loading.reports.tables import Result, known_columns, name_columns, records_spec, selections_of, table_of
from loading.slices.commit import (
    STORAGE_ERRORS,
    Loaded,
    Report,
    RunResults,
    commit_slice,
    fail_slice,
    guard_of,
    reading_of,
)
from loading.slices.stage import SliceContext, Stage, open_stage
from loading.tables import TABLES
from loading.threads import in_thread
from warehouse.lake.tables import EXTRA, PARAMS, ROW_NUMBER, Table, report_table
from warehouse.load.logs.load_log import committed
from warehouse.load.schema_evolution import evolve
from warehouse.load.slice_reading import Cause

NO_ROWS = "no rows: the platform has none for these parameters"


class ReportLoader:
    """Loads results for one run. `done`: the slices that the run's cause has committed."""

    def __init__(
        self, runtime: Runtime, client: Client, cause: Cause, done: Mapping[tuple[str, str], datetime]
    ) -> None:
        self._runtime, self._client, self._cause, self._done = runtime, client, cause, done
        # The columns of fields by table. Results that load side by side share them.
        self._columns: dict[str, dict[str, str]] = {}
        # Bounds the memory: one result at a time commits, while others go on reading.
        self._commits = asyncio.Lock()

    def is_done(self, result: Result) -> bool:
        """Whether this run's cause has committed the result."""
        tables = (f"reports.{result.table_name}", REPORT_FIELDS.name)
        return all((name, str(result.slice)) in self._done for name in tables)

    async def load(self, result: Result, prefix: str, request: ReportRequest) -> list[Loaded]:
        """Load the records of a result, and after them its fields; a failure is an outcome."""
        runtime, field_batches = self._runtime, list[pa.RecordBatch]()
        collector = Collector(REPORT_FIELDS, str(result.slice), field_batches.append)
        reader = Reader(self._client, result.school_id, REPORT_FIELDS.scopes)
        try:
            async with read_records(
                reader, prefix, result.report, request, collector, runtime.scratch
            ) as records:
                columns = self._columns_of(result)
                name_columns(records.contract, columns)
                evolved = evolve(runtime.lake, table_of(result, records.contract, columns))
                with open_stage(self._context(result, evolved.table), evolved=evolved) as stage:
                    for batch in records.batches:
                        first = stage.writer.rows + 1
                        stage.write(_in_table(batch, first, result.combination, records.contract, columns))
                    async with self._commits:
                        return await in_thread(
                            self._commit, result, stage, records.account, field_batches, collector.account
                        )
        except (CampusError, *STORAGE_ERRORS) as error:
            return [self.fail(result, str(error))]

    def fail(self, result: Result, message: str) -> Loaded:
        """Log that a result could not be loaded; its rows stay."""
        table = report_table(result.table_name, (), "")
        return fail_slice(self._context(result, table), message)

    def _context(self, result: Result, table: Table) -> SliceContext:
        return SliceContext(self._runtime, self._cause, records_spec(table), result.slice, table)

    def _columns_of(self, result: Result) -> dict[str, str]:
        name = result.table_name
        if name not in self._columns:
            self._columns[name] = known_columns(self._runtime.lake, name)
        return self._columns[name]

    def _commit(
        self,
        result: Result,
        records: Stage,
        account: Account,
        field_batches: list[pa.RecordBatch],
        fields_account: Account,
    ) -> list[Loaded]:
        """Commit the records and the fields. Without fields there are no rows either, and the table keeps its
        columns."""
        if field_batches:
            before = self._runtime.lake.read(TABLES[REPORT_FIELDS.name], result.slice).to_pylist()
            after = pa.Table.from_batches(field_batches).to_pylist()
            account.drift.update(changed_fields(before, after))
        reading = replace(
            reading_of(records.context, records.writer, account),
            failures=tuple(account.proofs),
            notes=() if account.received else (NO_ROWS,),
        )
        loaded = commit_slice(records.context, reading, guard_of(records.context))
        if loaded.outcome is None or not field_batches:
            return [loaded]
        context = SliceContext.of(self._runtime, self._cause, REPORT_FIELDS, result.slice)
        with open_stage(context) as stage:
            for batch in field_batches:
                stage.write(_with_columns(batch, result.table_name, self._columns_of(result)))
            reading = reading_of(context, stage.writer, fields_account)
            return [loaded, commit_slice(context, reading, guard_of(context))]


def _in_table(
    batch: pa.RecordBatch,
    first: int,
    combination: str,
    contract: type[Contract],
    columns: Mapping[str, str],
) -> pa.RecordBatch:
    """Rows in the columns of their table, numbered from `first` on in the platform's order."""
    return pa.RecordBatch.from_pydict(
        {
            ROW_NUMBER.name: pa.array(range(first, first + batch.num_rows), ROW_NUMBER.type),
            PARAMS.name: pa.repeat(pa.scalar(combination), batch.num_rows),
            **{columns[field.wire]: batch.column(field.name) for field in fields(contract)},
            EXTRA: batch.column(EXTRA),
        }
    )


def _with_columns(batch: pa.RecordBatch, table_name: str, columns: Mapping[str, str]) -> pa.RecordBatch:
    """Add the table and the column that store each field."""
    rows = [
        {**row, "table_name": table_name, "column_name": columns.get(row["name"])}
        for row in batch.to_pylist()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=batch.schema)


GONE = "neither the report nor what campus.yaml asks of it has this result any more; the discovery retires it"
# The platform computes a report when it is requested.
RESULTS_AT_A_TIME = 4


async def load_results(
    runtime: Runtime, cause: Cause, results: Sequence[Result], names: Collection[str], report_slice: Report
) -> RunResults:
    """Load results of reports, as `Kind` loads: records and fields, which come in the same answers, whichever
    of them is named. Skips results that the cause has committed."""
    run = RunResults()
    done = committed(runtime.lake, cause.sync_id, {result.school_id for result in results})
    async with connected(runtime, [REPORT_FIELDS.scopes]) as client:
        loader = ReportLoader(runtime, client, cause, done)
        due: dict[tuple[int, str], list[Result]] = defaultdict(list)
        for result in results:
            if not loader.is_done(result):
                due[result.school_id, result.report].append(result)
        errors: dict[int, dict[str, CampusError]] = defaultdict(dict)
        for (school_id, report), results_of_report in due.items():
            if run.is_halted(school_id):
                continue
            try:
                prefix, requests = await _read_requests(client, runtime, school_id, report)
            except PlatformUnavailable as halt:
                run.halts.append(halt)
                continue
            except CampusError as error:
                for result in results_of_report:
                    loader.fail(result, str(error))
                errors[school_id][report] = error
                continue
            run.loaded += [
                loader.fail(result, GONE) for result in results_of_report if result.key not in requests
            ]
            offered = {result: requests[result.key] for result in results_of_report if result.key in requests}
            await _load_report(loader, prefix, offered, run, report_slice, runtime.listener)
        run.problems = [line for by_report in errors.values() for line in error_lines(by_report)]
    return run


async def _read_requests(
    client: Client, runtime: Runtime, school_id: int, report: str
) -> tuple[str, dict[str, ReportRequest]]:
    """The path prefix of a report, and the request for each result by its partition key.

    Raises CampusError."""
    selection = selections_of(runtime.reports, school_id).get(report)
    if selection is None:
        raise ReportSelectionError(
            f"school {school_id}: neither campus.yaml nor CAMPUS_REPORTS names the report {report!r} any "
            f"more; the discovery retires it."
        )
    discarded = (Collector(spec) for spec in (REPORT_PARAMETERS, REPORT_QUERIES))
    reader = Reader(client, school_id, REPORT_QUERIES.scopes)
    offered = await read_report(reader, report, *discarded)
    return offered.prefix, requests_of(school_id, selection, offered)


async def _load_report(
    loader: ReportLoader,
    prefix: str,
    requests: dict[Result, ReportRequest],
    run: RunResults,
    report_slice: Report,
    listener: Listener | None,
) -> None:
    """Load results of one report."""
    places = asyncio.Semaphore(RESULTS_AT_A_TIME)
    finished: list[Loaded] = []

    async def load(result: Result, request: ReportRequest) -> None:
        async with places:
            if run.is_halted(result.school_id):
                return
            try:
                loaded = await loader.load(result, prefix, request)
            except PlatformUnavailable as halt:
                run.halts.append(halt)
                return
        described = {
            "label": request.query.label or "",
            "parameters": json.dumps(request.params, ensure_ascii=False),
        }
        for slice_loaded in loaded:
            is_fields = slice_loaded.spec is REPORT_FIELDS
            report_slice(slice_loaded, [result.key], {} if is_fields else described)
        run.loaded += loaded
        finished.append(loaded[0])
        if listener:
            _report_progress(listener, result, request, finished, len(requests))

    await run_together(load(result, request) for result, request in requests.items())


def _report_progress(
    listener: Listener, result: Result, request: ReportRequest, finished: Sequence[Loaded], total: int
) -> None:
    """Report how many results of a report are loaded, and a result without rows. Failures are reported as
    such, and count as no results."""
    outcomes = [loaded.outcome for loaded in finished if loaded.outcome is not None]
    total -= len(finished) - len(outcomes)
    if not total:
        return
    records = finished[-1]
    if records.outcome is not None and records.outcome.received == 0:
        query = " ".join(filter(None, [str(result.query_id), request.query.label, result.combination]))
        place = f"school {result.school_id}, report {result.report}, query {query}"
        listener(Event("note", f"{place}: {records.message}"))
    listener(
        Event(
            "progress",
            f"report {result.report}: {len(outcomes)} of {total} results",
            resource=f"report {result.report}",
            slice=str(result.school_id),
            done=len(outcomes),
            total=total,
            rows=sum(outcome.received for outcome in outcomes),
        )
    )
