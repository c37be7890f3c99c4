"""Plans and loads reports. A discovery plans their partitions, by what the platform offers. A load reads
several results of a report at a time: each as a whole, with its fields."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from campus.account import Account
from campus.contracts.fields import Contract, fields
from campus.fetch.collection import run_together
from campus.fetch.reader import Reader
from campus.http.errors import CampusError, Forbidden
from campus.http.events import Event
from campus.registry import REPORT_FIELDS, REPORT_PARAMETERS, REPORT_QUERIES
from campus.reports.metadata import changed_fields, read_report
from campus.reports.records import read_records
from campus.reports.selection import (
    OfferedReport,
    ReportRequest,
    ReportSelection,
    ReportSelectionError,
    combination_text,
    plan_requests,
)
from campus.sources.gathered import Collector
from loading.reports.tables import (
    Result,
    known_columns,
    name_columns,
    records_spec,
    report_slice,
    selections_of,
    table_of,
)
from loading.slices.commit import Loaded, commit_slice, empty_slice, fail_slice
from loading.slices.loader import Line, Loader, Plan, failures_as_outcomes, side_by_side, staged
from loading.slices.stage import SliceContext, Stage, open_stage
from loading.tables import TABLES, values
from warehouse.lake.tables import EXTRA, PARAMS, ROW_NUMBER, SEPARATOR, Slice, Table, report_table
from warehouse.load.logs.load_log import last_in_vain
from warehouse.load.schema_evolution import evolve

METADATA = (REPORT_QUERIES, REPORT_PARAMETERS)
NO_ROWS = "no rows: the platform has none for these parameters"
GONE = "neither the report nor what campus.yaml asks of it has this result any more; the discovery retires it"
# The platform computes a report when it is requested.
RESULTS_AT_A_TIME = 4


@dataclass(eq=False)
class RequestsJob:
    """Reads the metadata of a report, which decide on the requests for its results. It loads no slice."""

    school_id: int
    report: str
    #: Of the report's path.
    prefix: str = ""
    #: By the partition key of the result.
    requests: Mapping[str, ReportRequest] = field(default_factory=dict)
    error: CampusError | None = None

    async def load(self, loader: Loader) -> list[Loaded]:
        """Read the requests, or note the error."""
        selection = selections_of(loader.runtime.reports, self.school_id).get(self.report)
        discarded = (Collector(spec) for spec in (REPORT_PARAMETERS, REPORT_QUERIES))
        reader = Reader(loader.client, self.school_id, REPORT_QUERIES.scopes)
        try:
            if selection is None:
                raise ReportSelectionError(
                    f"school {self.school_id}: neither campus.yaml nor CAMPUS_REPORTS names the report "
                    f"{self.report!r} any more; the discovery retires it."
                )
            offered = await read_report(reader, self.report, *discarded)
            self.prefix, self.requests = offered.prefix, requests_of(self.school_id, selection, offered)
        except CampusError as error:
            self.error = error
        return []


@dataclass(frozen=True, eq=False)
class ResultJob:
    """Loads the records of a result, and after them its fields."""

    result: Result
    prefix: str
    request: ReportRequest
    #: The columns of fields by table. Results that load side by side share them.
    columns_by_table: dict[str, dict[str, str]]

    async def load(self, loader: Loader) -> list[Loaded]:
        """Load the result; a failure is an outcome.

        Raises PlatformUnavailable: the platform cannot be asked further."""
        result, runtime, loaded = self.result, loader.runtime, list[Loaded]()
        field_batches = list[pa.RecordBatch]()
        collector = Collector(REPORT_FIELDS, str(result.slice), field_batches.append)
        reader = Reader(loader.client, result.school_id, REPORT_FIELDS.scopes)
        with failures_as_outcomes([_context(loader, result)], loaded, logs_halt=False):
            async with read_records(
                reader, self.prefix, result.report, self.request, collector, runtime.scratch
            ) as records:
                if result.table_name not in self.columns_by_table:
                    self.columns_by_table[result.table_name] = known_columns(runtime.lake, result.table_name)
                columns = self.columns_by_table[result.table_name]
                name_columns(records.contract, columns)
                evolved = evolve(runtime.lake, table_of(result, records.contract, columns))
                with open_stage(_context(loader, result, evolved.table), evolved=evolved) as stage:
                    for batch in records.batches:
                        first = stage.writer.rows + 1
                        stage.write(_in_table(batch, first, result.combination, records.contract, columns))
                    described = [_with_columns(batch, result.table_name, columns) for batch in field_batches]
                    loaded += await loader.in_turn(
                        _commit, stage, records.account, described, collector.account
                    )
        metadata = {
            "label": self.request.query.label or "",
            "parameters": json.dumps(self.request.params, ensure_ascii=False),
        }
        return [
            replace(
                outcome, partitions=(result.key,), metadata={} if outcome.spec is REPORT_FIELDS else metadata
            )
            for outcome in loaded
        ]


def plan_results(loader: Loader, results: Sequence[Result]) -> Plan:
    """Plan results of reports: records and fields, which come in the same answers. Skips results that the
    cause has committed."""
    run = loader.run
    due: dict[tuple[int, str], list[Result]] = defaultdict(list)
    for result in results:
        tables = (f"reports.{result.table_name}", REPORT_FIELDS.name)
        if None in (loader.committed_at(name, result.slice) for name in tables):
            due[result.school_id, result.report].append(result)
    columns_by_table: dict[str, dict[str, str]] = {}
    errors: dict[int, dict[str, CampusError]] = defaultdict(dict)
    for (school_id, report), results_of_report in due.items():
        if run.is_halted(school_id):
            continue
        metadata = RequestsJob(school_id, report)
        yield [metadata]
        if run.is_halted(school_id):
            continue
        if metadata.error is not None:
            for result in results_of_report:
                fail_slice(_context(loader, result), str(metadata.error))
            errors[school_id][report] = metadata.error
            continue
        gone = [result for result in results_of_report if result.key not in metadata.requests]
        run.loaded += [fail_slice(_context(loader, result), GONE) for result in gone]
        jobs = [
            ResultJob(result, metadata.prefix, metadata.requests[result.key], columns_by_table)
            for result in results_of_report
            if result.key in metadata.requests
        ]
        finished: list[Loaded] = []
        lines = (_line(loader, job, finished, len(jobs)) for job in jobs)
        yield from side_by_side(lines, RESULTS_AT_A_TIME)
    run.problems += [line for by_report in errors.values() for line in error_lines(by_report)]


def _line(loader: Loader, job: ResultJob, finished: list[Loaded], total: int) -> Line:
    """Report how many results of a report are loaded, and a result without rows. Failures are reported as
    such, and count as no results."""
    loaded = yield job
    records, result = loaded[0], job.result
    finished.append(records)
    if records.outcome is not None and records.outcome.received == 0:
        query = " ".join(filter(None, [str(result.query_id), job.request.query.label, result.combination]))
        label = f"school {result.school_id}, report {result.report}, query {query}"
        loader.runtime.notify(Event("note", f"{label}: {records.message}"))
    committed = [records for records in finished if records.outcome is not None]
    if total := total - len(finished) + len(committed):
        loader.report_progress(f"report {result.report}", "results", result.school_id, committed, total)


def _context(loader: Loader, result: Result, table: Table | None = None) -> SliceContext:
    """A result in the run. Without `table`, its rows stay."""
    table = table or report_table(result.table_name, (), "")
    return SliceContext(loader.runtime, loader.cause, records_spec(table), result.slice, table)


def _commit(
    records: Stage, account: Account, field_batches: Sequence[pa.RecordBatch], fields_account: Account
) -> list[Loaded]:
    """Commit the records and the fields. Without fields there are no rows either, and the table keeps its
    columns."""
    context = replace(records.context, spec=REPORT_FIELDS, table=TABLES[REPORT_FIELDS.name])
    if field_batches:
        before = context.runtime.lake.read(context.table, context.slice).to_pylist()
        after = pa.Table.from_batches(field_batches).to_pylist()
        account.drift.update(changed_fields(before, after))
    reading = replace(
        records.reading(account),
        failures=tuple(account.proofs),
        notes=() if account.received else (NO_ROWS,),
    )
    loaded = commit_slice(records.context, reading)
    if loaded.outcome is None or not field_batches:
        return [loaded]
    with open_stage(context) as stage:
        for batch in field_batches:
            stage.write(batch)
        return [loaded, commit_slice(context, stage.reading(fields_account))]


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


async def plan_reports(loader: Loader, school_id: int, partitions: Sequence[str]) -> list[str]:
    """Load the parameters and queries of a school's selected reports, and plan the partitions of their
    results. A report that cannot be planned keeps its results, and is a problem of the run. Results that are
    no longer selected are retired.

    Args:
        partitions: The present keys."""
    run = loader.run
    errors: dict[str, CampusError] = {}
    selections = selections_of(loader.runtime.reports, school_id)
    keys: dict[str, list[str]] = defaultdict(list)
    for key in partitions:
        keys[Result.of(key).report].append(key)

    async def plan(selection: ReportSelection) -> None:
        try:
            keys[selection.report] = await _plan_report(loader, school_id, selection)
        except CampusError as error:
            errors[selection.report] = error

    await run_together(plan(selection) for selection in selections.values())
    problems = error_lines({report: errors[report] for report in selections if report in errors})
    planned = [key for report in selections for key in keys[report]]
    for key in partitions:
        if key not in planned:
            retired = _retire(loader, Result.of(key))
            if any(loaded.status == "failed" for loaded in retired):
                # Its rows are still published, and the next discovery tries again.
                planned.append(key)
            run.loaded += retired
    selected = {report_slice(school_id, report) for report in selections}
    # A misspelt report never loads. Without a retirement its failure would show for ever.
    failed = last_in_vain(loader.runtime.lake, school_id)
    for spec in METADATA:
        stored = loader.runtime.lake.read(TABLES[spec.name], Slice.of(_school_id=school_id), ["report"])
        slices = {report_slice(school_id, report) for report in values(stored, "report")} | {
            Slice.of(_school_id=school_id, _partition=slice.partition(SEPARATOR)[2])
            for resource, slice in failed
            if resource == spec.name
        }
        run.loaded += [
            empty_slice(loader.context(spec, slice)) for slice in sorted(slices - selected, key=str)
        ]
    run.problems += problems
    return planned


def requests_of(
    school_id: int, selection: ReportSelection, offered: OfferedReport
) -> dict[str, ReportRequest]:
    """The request for each result of a report, by its partition key.

    Raises ReportSelectionError."""
    return {
        Result(school_id, selection.report, request.query.id, combination_text(request.matrix)).key: request
        for request in plan_requests(selection, offered, school_id)
    }


def error_lines(errors: Mapping[str, CampusError]) -> list[str]:
    """A message for each failed report of a school. Reports that the credentials do not cover share one."""
    first, *further = [name for name, error in errors.items() if isinstance(error, Forbidden)] or [""]
    names = f" The same holds of {', '.join(further)}." if further else ""
    return [
        f"{error}{names if name == first else ''}" for name, error in errors.items() if name not in further
    ]


async def _plan_report(loader: Loader, school_id: int, selection: ReportSelection) -> list[str]:
    """Load a report's metadata; returns the keys of its results. Raises CampusError."""
    slice = report_slice(school_id, selection.report)
    contexts, loaded = [loader.context(spec, slice) for spec in METADATA], list[Loaded]()
    offered: OfferedReport | None = None
    failure: CampusError | None = None
    with failures_as_outcomes(contexts, loaded), staged(contexts) as slices:
        queries, parameters = (slice_.collector for slice_ in slices)
        reader = Reader(loader.client, school_id, REPORT_QUERIES.scopes, queries.account.tally)
        try:
            offered = await read_report(reader, selection.report, parameters, queries)
        except CampusError as error:
            failure = error
            raise
        loaded += await loader.commit(slices)
    if offered is None:
        raise failure or CampusError(loaded[0].message)
    loader.run.loaded += loaded
    return list(requests_of(school_id, selection, offered))


def _retire(loader: Loader, result: Result) -> list[Loaded]:
    """Empty the slices of a result."""
    records, fields_ = _context(loader, result), loader.context(REPORT_FIELDS, result.slice)
    contexts = [records, fields_] if loader.runtime.lake.holds(records.table) else [fields_]
    return [empty_slice(context) for context in contexts]
