"""Planning: what a school's reports take and offer, and so which results there are to load."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from campus.fetch.collection import together
from campus.http.client import Client
from campus.http.errors import CampusError, Forbidden
from campus.registry import REPORT_FIELDS, REPORT_PARAMETERS, REPORT_QUERIES
from campus.reports.metadata import OfferedReport, read_report
from campus.reports.parameters import ReportRequest, ask_for
from campus.reports.selection import ReportSelection, combination_text
from loading.commit import Loaded, Planned, retire_slice
from loading.load_slice import Loader
from loading.reports.tables import Result, records_spec, report_slice, selections_of
from loading.runtime import Cause
from loading.slice_context import SliceContext
from loading.strategies import Collectors, Strategy
from loading.tables import TABLES, values
from warehouse.lake.tables import SEPARATOR, Slice, report_table
from warehouse.load.load_log import last_in_vain

METADATA = (REPORT_QUERIES, REPORT_PARAMETERS)


async def plan_reports(
    loader: Loader, client: Client, cause: Cause, school_id: int, known: Sequence[str]
) -> Planned:
    """Load what the wanted reports of a school take and offer, and plan their results.

    known: the partition keys that there are. A report that cannot be planned keeps its results, and is a
    problem; results that are not wanted any more are retired."""
    planned = Planned()
    errors: dict[str, CampusError] = {}
    wanted = selections_of(loader.runtime.reports, school_id)
    keys: dict[str, list[str]] = defaultdict(list)
    for key in known:
        keys[Result.of(key).report].append(key)

    async def plan(selection: ReportSelection) -> None:
        try:
            keys[selection.report] = await _plan_one(loader, client, school_id, selection, planned)
        except CampusError as error:
            errors[selection.report] = error

    await together(plan(selection) for selection in wanted.values())
    planned.problems = in_lines({report: errors[report] for report in wanted if report in errors})
    planned.partitions = [key for report in wanted for key in keys[report]]
    for key in known:
        if key not in planned.partitions:
            retired = _retire(loader, cause, Result.of(key))
            if any(one.status == "failed" for one in retired):
                # What is held of it is still published, and the next discovery tries again.
                planned.partitions.append(key)
            planned.loaded += retired
    kept = {report_slice(school_id, report) for report in wanted}
    # One that was only ever asked for in vain, such as a name that was misspelt, would be told for ever.
    in_vain = last_in_vain(loader.runtime.lake, school_id)
    for spec in METADATA:
        held = loader.runtime.lake.read(TABLES[spec.name], Slice.of(_school_id=school_id), ["report"])
        gone = {report_slice(school_id, report) for report in values(held, "report")} | {
            Slice.of(_school_id=school_id, _partition=slice.partition(SEPARATOR)[2])
            for resource, slice in in_vain
            if resource == spec.name
        }
        planned.loaded += [
            retire_slice(loader.context(spec, slice)) for slice in sorted(gone - kept, key=str)
        ]
    return planned


def requests_of(
    school_id: int, selection: ReportSelection, offered: OfferedReport
) -> dict[str, ReportRequest]:
    """The question for each result of a report, by the key of its partition.

    Raises ReportSelectionError."""
    return {
        Result(school_id, selection.report, one.query.id, combination_text(one.matrix)).key: one
        for one in ask_for(selection, offered, school_id)
    }


def in_lines(errors: Mapping[str, CampusError]) -> list[str]:
    """What is wrong with a school's reports, in words. What the credentials do not cover is reported of the
    first, with the names of the others."""
    first, *others = [name for name, error in errors.items() if isinstance(error, Forbidden)] or [""]
    alike = f" The same holds of {', '.join(others)}." if others else ""
    return [
        f"{error}{alike if name == first else ''}" for name, error in errors.items() if name not in others
    ]


async def _plan_one(
    loader: Loader, client: Client, school_id: int, selection: ReportSelection, planned: Planned
) -> list[str]:
    """The keys of a report's results. Raises CampusError."""
    offered: OfferedReport | None = None
    failure: CampusError | None = None

    async def read(collectors: Collectors) -> None:
        nonlocal offered, failure
        taken, listed = collectors[REPORT_PARAMETERS], collectors[REPORT_QUERIES]
        try:
            offered = await read_report(client, school_id, selection.report, taken, listed)
        except CampusError as error:
            failure = error
            raise

    slice = report_slice(school_id, selection.report)
    loaded = await loader.load(dict.fromkeys(METADATA, slice), Strategy(read))
    if offered is None:
        raise failure or CampusError(loaded[0].message)
    planned.loaded += loaded
    return list(requests_of(school_id, selection, offered))


def _retire(loader: Loader, cause: Cause, result: Result) -> list[Loaded]:
    """Empty what a result has in its tables."""
    runtime, table = loader.runtime, report_table(result.table_name, (), "")
    retired = []
    if runtime.lake.holds(table):
        context = SliceContext(runtime, cause, records_spec(table), result.slice, table)
        retired = [retire_slice(context)]
    return [*retired, retire_slice(loader.context(REPORT_FIELDS, result.slice))]
