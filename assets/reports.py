"""The results of reports: one asset, whose partitions are the queries of every report of every school, each
with every combination of its matrix."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

import dagster as dg
import uvloop

from assets.committing import Loaded
from assets.partitions import REPORT_RESULTS
from assets.report_loading import ReportLoader
from assets.report_plans import METADATA, questions_of
from assets.report_tables import Result, selections_of
from assets.resource_assets import (
    asset_key,
    described,
    loaded_whole,
    materialized,
    raise_failed,
    raw_asset,
    whole_spec,
)
from assets.runtime import Cause, Runtime, cause_of, told
from campus.client import Client
from campus.collect import Collector
from campus.collection import together
from campus.errors import CampusError
from campus.events import Event
from campus.reports.metadata import read_report
from campus.reports.parameters import Question
from campus.resources import REPORT_FIELDS, REPORT_PARAMETERS, REPORT_QUERIES
from warehouse.quality import committed

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
            description="Results of the reports that settings name, each as it is today.",
            group_name="reports",
            kinds={"deltalake"},
            skippable=True,
            partitions_def=REPORT_RESULTS,
            metadata={
                "scope": REPORT_FIELDS.scopes[0],
                "slice": "one query of a school's report, with one combination of its matrix",
            },
        ),
        raw_asset(REPORT_FIELDS, "reports", [asset_key(REPORT_QUERIES.name)], REPORT_RESULTS),
    ],
    check_specs=[whole_spec(RECORDS), whole_spec(FIELDS)],
    can_subset=True,
    backfill_policy=dg.BackfillPolicy.single_run(),
    required_resource_keys={"campus"},
    pool="platform",
)
def report_records(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult]:
    """Load the results of the run; both tables, since one answer holds the rows of both."""
    runtime = told(context.resources.campus, context.log)
    cause = cause_of(context.run.run_id, context.run.tags)
    loaded, problems = uvloop.run(_load_all(context, runtime, cause))
    for asset in sorted(context.selected_asset_keys):
        mine = (one for one in loaded if (one.spec is REPORT_FIELDS) == (asset == FIELDS))
        yield loaded_whole(asset, mine, problems)
    raise_failed(loaded, problems)


async def _load_all(
    context: dg.AssetExecutionContext, runtime: Runtime, cause: Cause
) -> tuple[list[Loaded], list[str]]:
    loaded: list[Loaded] = []
    problems: list[str] = []
    places = asyncio.Semaphore(RESULTS_AT_A_TIME)
    async with Client(runtime.client, [REPORT_FIELDS.scopes], runtime.listener) as client:
        loader = ReportLoader(runtime, client, cause, committed(runtime.lake, cause.sync_id))

        async def load(result: Result, prefix: str, question: Question) -> None:
            async with places:
                for one in await loader.load(result, prefix, question):
                    loaded.append(one)
                    _record(context, runtime, one, result, question)

        for (school_id, report), results in _by_report(context.partition_keys).items():
            due = [result for result in results if not loader.is_done(result)]
            selection = selections_of(runtime.reports, school_id).get(report)
            if selection is None:
                problems.append(
                    f"school {school_id}: neither campus.yaml nor CAMPUS_REPORTS names the report {report!r} "
                    f"any more; the discovery retires it"
                )
                continue
            nowhere = (Collector(spec, "", lambda _: None) for spec in (REPORT_PARAMETERS, REPORT_QUERIES))
            try:
                offered = await read_report(client, school_id, report, *nowhere)
                questions = questions_of(school_id, selection, offered)
            except CampusError as error:
                loaded += [loader.fail(result, str(error)) for result in due]
                continue
            loaded += [loader.fail(result, GONE) for result in due if result.key not in questions]
            await together(
                load(result, offered.prefix, questions[result.key])
                for result in due
                if result.key in questions
            )
    return loaded, problems


def _by_report(keys: Sequence[str]) -> dict[tuple[int, str], list[Result]]:
    found: dict[tuple[int, str], list[Result]] = defaultdict(list)
    for result in map(Result.of, keys):
        found[result.school_id, result.report].append(result)
    return found


def _record(
    context: dg.AssetExecutionContext, runtime: Runtime, one: Loaded, result: Result, question: Question
) -> None:
    """Tell Dagster what became of a result, as soon as it is committed, and people that it has no rows."""
    if one.spec is REPORT_FIELDS:
        materialized(context, one, FIELDS, [result.key], described(one))
        return
    label = question.query.label or ""
    asked = {"label": label, "parameters": json.dumps(question.params, ensure_ascii=False)}
    texts = {name: dg.MetadataValue.text(text) for name, text in asked.items()}
    materialized(context, one, RECORDS, [result.key], {**described(one), **texts})
    if runtime.listener and one.outcome and not one.outcome.received:
        words = " ".join(filter(None, [f"query {result.query_id}", label, result.combination]))
        where = f"school {result.school_id}, report {result.report}, {words}"
        runtime.listener(Event("note", f"{where}: {one.message}"))
