"""Plans the results of a school's reports, by the parameters and queries that the platform offers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from campus.fetch.collection import run_together
from campus.fetch.reader import Reader
from campus.http.errors import CampusError, Forbidden
from campus.registry import REPORT_FIELDS, REPORT_PARAMETERS, REPORT_QUERIES
from campus.reports.metadata import read_report
from campus.reports.selection import (
    OfferedReport,
    ReportRequest,
    ReportSelection,
    combination_text,
    plan_requests,
)
from loading.reports.tables import Result, records_spec, report_slice, selections_of
from loading.slices.commit import Loaded, retire_slice
from loading.slices.loader import Loader, failures_as_outcomes, staged
from loading.slices.stage import SliceContext
from loading.tables import TABLES, values
from warehouse.lake.tables import SEPARATOR, Slice, report_table
from warehouse.load.logs.load_log import last_in_vain

METADATA = (REPORT_QUERIES, REPORT_PARAMETERS)


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
            retire_slice(loader.context(spec, slice)) for slice in sorted(slices - selected, key=str)
        ]
    run.problems += problems
    return planned
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
    first, *others = [name for name, error in errors.items() if isinstance(error, Forbidden)] or [""]
    names = f" The same holds of {', '.join(others)}." if others else ""
    return [
        f"{error}{names if name == first else ''}" for name, error in errors.items() if name not in others
    ]


async def _plan_report(loader: Loader, school_id: int, selection: ReportSelection) -> list[str]:
    """Load a report's metadata; returns the keys of its results. Raises CampusError."""
    slice = report_slice(school_id, selection.report)
    contexts, loaded = [loader.context(spec, slice) for spec in METADATA], list[Loaded]()
    offered: OfferedReport | None = None
    failure: CampusError | None = None
    with failures_as_outcomes(contexts, loaded), staged(contexts) as slices:
        queries, parameters = (part.collector for part in slices)
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
    runtime, table = loader.runtime, report_table(result.table_name, (), "")
    contexts = [loader.context(REPORT_FIELDS, result.slice)]
    if runtime.lake.holds(table):
        contexts.insert(0, SliceContext(runtime, loader.cause, records_spec(table), result.slice, table))
    return [retire_slice(context) for context in contexts]
