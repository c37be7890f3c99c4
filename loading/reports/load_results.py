"""Loads results of reports, report by report, with several results of a report at a time."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection, Sequence

from campus.fetch.collection import run_together
from campus.http.client import Client
from campus.http.errors import CampusError, PlatformUnavailable
from campus.http.events import Event, Listener
from campus.registry import REPORT_FIELDS, REPORT_PARAMETERS, REPORT_QUERIES
from campus.reports.metadata import read_report
from campus.reports.parameters import ReportRequest, ReportSelectionError
from campus.sources.gathered import Collector
from loading.connection.outage import connected
from loading.connection.runtime import Runtime
from loading.reports.loader import ReportLoader
from loading.reports.plans import error_lines, requests_of
from loading.reports.tables import Result, selections_of
from loading.run_results import Report, RunResults
from loading.slices.commit import Loaded
from warehouse.load.logs.load_log import committed
from warehouse.load.slice_reading import Cause

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
    offered = await read_report(client, school_id, report, *discarded)
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
