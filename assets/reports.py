"""The results of reports: one asset, whose partitions are the queries of every report of every school, each
with every combination of its matrix."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import dagster as dg
import uvloop

from assets.drift_checks import no_drift, no_drift_spec, sources_of, tell_drift
from assets.freshness import NIGHTLY
from assets.partitions import REPORT_RESULTS, asked_for, read_as
from assets.resource_assets import (
    StepContext,
    asking_runtime,
    asset_key,
    described,
    load_or_check,
    loaded_whole,
    materialized,
    raise_failed,
    raw_asset,
    whole_spec,
)
from campus.fetch.collection import together
from campus.http.client import Client
from campus.http.errors import CampusError, PlatformUnavailable
from campus.http.events import Event, Listener
from campus.registry import REPORT_FIELDS, REPORT_PARAMETERS, REPORT_QUERIES
from campus.reports.metadata import read_report
from campus.reports.parameters import ReportRequest, ReportSelectionError
from campus.sources.gathered import Collector
from loading.commit import Loaded
from loading.outage import connected
from loading.reports.loader import ReportLoader
from loading.reports.plans import METADATA, error_lines, requests_of
from loading.reports.tables import Result, results_of, selections_of
from loading.runtime import Cause, Runtime, cause_of
from warehouse.load.load_log import committed
from warehouse.load.log_writer import batched

RECORDS = dg.AssetKey(["reports", "records"])
FIELDS = asset_key(REPORT_FIELDS.name)
GONE = "neither the report nor what campus.yaml asks of it has this result any more; the discovery retires it"
# The platform computes a report when it is asked for.
RESULTS_AT_A_TIME = 4


@dg.multi_asset(
    name="load_reports",
    specs=[
        dg.AssetSpec(
            RECORDS,
            deps=[asset_key(spec.name) for spec in METADATA],
            description=read_as(
                "Results of the reports that settings name, each as it is today.", REPORT_RESULTS
            ),
            group_name="reports",
            kinds={"deltalake"},
            skippable=True,
            freshness_policy=NIGHTLY,
            partitions_def=REPORT_RESULTS,
            metadata={
                "scope": REPORT_FIELDS.scopes[0],
                "slice": "one query of a school's report, with one combination of its matrix",
            },
        ),
        raw_asset(REPORT_FIELDS, "reports", [asset_key(REPORT_QUERIES.name)], REPORT_RESULTS),
    ],
    check_specs=[check(asset) for asset in (RECORDS, FIELDS) for check in (whole_spec, no_drift_spec)],
    can_subset=True,
    backfill_policy=dg.BackfillPolicy.single_run(),
    required_resource_keys={"campus"},
    pool="platform",
)
def report_records(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult]:
    """Load the results of the run."""
    yield from load_or_check(context, load_reports)


def load_reports(
    context: StepContext, keys: Sequence[str], assets: Collection[dg.AssetKey]
) -> Iterator[dg.AssetCheckResult]:
    """Load results of reports; both tables, since one answer holds the rows of both."""
    runtime = asking_runtime(context)
    run = _Run(context, runtime)
    cause = cause_of(context.run.run_id, context.run.tags)
    with batched(runtime.lake):
        uvloop.run(run.load(cause, keys))
    began = tell_drift(runtime, cause, sources_of(run.loaded))
    for asset in sorted(assets):
        mine = (one for one in run.loaded if (one.spec is REPORT_FIELDS) == (asset == FIELDS))
        yield loaded_whole(asset, mine, run.problems)
        yield no_drift(
            asset, [one for one in began if (one.resource == REPORT_FIELDS.name) == (asset == FIELDS)]
        )
    raise_failed(context, run.loaded, run.problems, run.halts)


class _Run:
    """What one run loads: the outcome of each slice, what is wrong with whole reports, and why schools, or
    all of them, were read no further."""

    def __init__(self, context: StepContext, runtime: Runtime) -> None:
        self._context, self._runtime = context, runtime
        self._places = asyncio.Semaphore(RESULTS_AT_A_TIME)
        self.loaded: list[Loaded] = []
        self.problems: list[str] = []
        self.halts: list[PlatformUnavailable] = []

    async def load(self, cause: Cause, keys: Sequence[str]) -> None:
        """Load the results of these partitions, report by report."""
        due: dict[tuple[int, str], list[Result]] = defaultdict(list)
        runtime = self._runtime
        asked = asked_for(runtime.lake, keys, results_of)
        done = committed(runtime.lake, cause.sync_id, {result.school_id for result in asked})
        async with connected(runtime, [REPORT_FIELDS.scopes]) as client:
            loader = ReportLoader(runtime, client, cause, done)
            for result in asked:
                if not loader.is_done(result):
                    due[result.school_id, result.report].append(result)
            errors: dict[int, dict[str, CampusError]] = defaultdict(dict)
            for (school_id, report), results in due.items():
                if self._is_halted(school_id):
                    continue
                try:
                    prefix, requests = await self._ask(client, school_id, report)
                except PlatformUnavailable as halt:
                    self.halts.append(halt)
                    continue
                except CampusError as error:
                    for result in results:
                        loader.fail(result, str(error))
                    errors[school_id][report] = error
                    continue
                self.loaded += [loader.fail(one, GONE) for one in results if one.key not in requests]
                there = [one for one in results if one.key in requests]
                progress = _Progress(runtime.listener, school_id, report, len(there))
                await together(
                    self._load_one(loader, result, prefix, requests[result.key], progress) for result in there
                )
            self.problems = [line for found in errors.values() for line in error_lines(found)]

    def _is_halted(self, school_id: int) -> bool:
        return any(halt.concerns(school_id) for halt in self.halts)

    async def _ask(self, client: Client, school_id: int, report: str) -> tuple[str, dict[str, ReportRequest]]:
        """Where a report is, and the request for each of its results, by the key of the partition.

        Raises CampusError."""
        selection = selections_of(self._runtime.reports, school_id).get(report)
        if selection is None:
            raise ReportSelectionError(
                f"school {school_id}: neither campus.yaml nor CAMPUS_REPORTS names the report {report!r} any "
                f"more; the discovery retires it."
            )
        nowhere = (Collector(spec) for spec in (REPORT_PARAMETERS, REPORT_QUERIES))
        offered = await read_report(client, school_id, report, *nowhere)
        return offered.prefix, requests_of(school_id, selection, offered)

    async def _load_one(
        self, loader: ReportLoader, result: Result, prefix: str, request: ReportRequest, progress: "_Progress"
    ) -> None:
        """Load a result, and tell Dagster its outcome as soon as it is committed."""
        async with self._places:
            if self._is_halted(result.school_id):
                return
            try:
                records, *fields = await loader.load(result, prefix, request)
            except PlatformUnavailable as halt:
                self.halts.append(halt)
                return
        asked = {
            "label": request.query.label or "",
            "parameters": json.dumps(request.params, ensure_ascii=False),
        }
        materialized(self._context, records, RECORDS, [result.key], {**described(records), **asked})
        for one in fields:
            materialized(self._context, one, FIELDS, [result.key], described(one))
        self.loaded += [records, *fields]
        progress.tell(result, request, records)


class _Progress:
    """How far the results of a report are, for people to see."""

    def __init__(self, listener: Listener | None, school_id: int, report: str, total: int) -> None:
        self._listener, self._school_id, self._report, self._total = listener, school_id, report, total
        self._done = self._rows = 0

    def tell(self, result: Result, request: ReportRequest, records: Loaded) -> None:
        """Tell that a result has ended, and if it has no rows."""
        received = records.outcome.received if records.outcome else None
        if received is None:
            # What could not be read is reported as a failure.
            self._total -= 1
        else:
            self._done += 1
            self._rows += received
        if not self._listener or not self._total:
            return
        if received == 0:
            words = " ".join(filter(None, [str(result.query_id), request.query.label, result.combination]))
            where = f"school {self._school_id}, report {self._report}, query {words}"
            self._listener(Event("note", f"{where}: {records.message}"))
        self._listener(
            Event(
                "progress",
                f"report {self._report}: {self._done} of {self._total} results",
                resource=f"report {self._report}",
                slice=str(self._school_id),
                done=self._done,
                total=self._total,
                rows=self._rows,
            )
        )
