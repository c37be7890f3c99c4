"""A school, resource by resource: what answers, what is hidden, and with which scopes it was read."""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence

from campus.http.client import Client
from campus.http.errors import CampusError, PlatformUnavailable
from campus.http.messages import permission_advice
from campus.plan.units import SliceQuery
from campus.registry import (
    BASE_DATA,
    DATASET_METADATA,
    REPORT_METADATA,
    RESOURCES,
    SCHOOLS,
    V1_DATA,
    ResourceSpec,
)
from campus.registry.spec import DetailRows
from campus.sources.gathered import Collector
from campus.sources.hidden_rows import HIDDEN
from campus.sources.slice import read
from loading.reports.tables import selections_of
from loading.semesters import COLUMNS
from pipelines.cli.doctor.datasets import examine_datasets
from pipelines.cli.doctor.findings import Finding
from pipelines.cli.doctor.probes import Probed, Row, ask, identified, questions, where_to_ask
from pipelines.cli.doctor.reports import examine_report
from pipelines.cli.doctor.semesters import examine_semesters
from pipelines.resources import wanted_reports
from pipelines.settings import Settings


def needed_resources(settings: Settings) -> list[ResourceSpec]:
    """What a sync with these settings reads."""
    unwanted: set[ResourceSpec] = set()
    if not settings.options.datasets.selection.include:
        unwanted.update(DATASET_METADATA)
    if not wanted_reports(settings):
        unwanted.update(REPORT_METADATA)
    return [spec for spec in RESOURCES.values() if spec not in unwanted]


async def list_schools(client: Client, school_ids: tuple[int, ...] | None) -> Probed:
    """The schools that the platform lists; none where it shows no list and the settings name them."""
    # A platform may want a school in the header, and refuses one that it does not have.
    for header in dict.fromkeys([*(school_ids or ())[:1], None]):
        try:
            asked = await ask(client, SCHOOLS, header, SCHOOLS.path)
        except PlatformUnavailable as halt:
            if halt.school_id is None:
                raise
            asked = Probed(Finding(False, str(halt)), [])
        if asked.finding.good or not school_ids:
            return asked
    # Named schools can be read without the list; only their names will be missing.
    return Probed(
        Finding(None, f"{asked.finding.text} The schools that CAMPUS_SCHOOL_IDS names do not need it."), []
    )


async def examine_school(client: Client, school_id: int, settings: Settings) -> AsyncIterator[Finding]:
    """One finding a resource. Later questions are made from the rows of earlier ones: a class, an item."""
    rows: dict[str, list[Row]] = {}
    # The semesters of either interface first: with them the rest is asked for.
    specs = dict.fromkeys((*COLUMNS, *BASE_DATA, *V1_DATA))
    unread = set[ResourceSpec]()
    for spec in specs:
        if spec.embedded_as:
            around = rows.get(spec.embedded_in or "", [])
            rows[spec.name] = [one for row in around for one in identified(row.get(spec.embedded_as))]
        query = where_to_ask(school_id, spec, rows, settings, client.config.client_id)
        for path, params in questions(spec, query):
            asked = await ask(client, spec, school_id, path, params)
            rows[spec.name] = asked.rows
            yield asked.finding
            details = spec.source(DetailRows)
            if details and asked.rows and not any(row.get(details.list) for row in asked.rows):
                yield _of_details(school_id, spec, details, len(asked.rows))
            if asked.finding.good is False:
                unread.add(spec)
            if unread >= COLUMNS.keys():
                # Where not even semesters can be read, thirty more refusals would say no more.
                return
    async for finding in examine_semesters(client, school_id, settings):
        yield finding
    async for finding in _hidden(client, school_id):
        yield finding
    for finding in _scopes(school_id, *client.scopes_of(school_id), needed_resources(settings)):
        yield finding
    selection = settings.options.datasets.selection
    if selection.include:
        async for finding in examine_datasets(client, school_id, selection):
            yield finding
    for wanted in selections_of(wanted_reports(settings), school_id).values():
        yield await examine_report(client, school_id, wanted)


async def _hidden(client: Client, school_id: int) -> AsyncIterator[Finding]:
    """Which lists hide rows unless they are asked for by their status."""
    for spec in BASE_DATA:
        if not spec.hidden_filters or spec.mode != "once":
            continue
        collector = Collector(spec)
        try:
            await read(client, spec, SliceQuery(school_id), collector)
        except CampusError:
            # What stands in the way of this list was told where it was first asked for.
            continue
        for drift, rows in collector.account.drift.items():
            if drift.kind == HIDDEN:
                yield Finding(
                    True,
                    f"school {school_id}, {spec.name}: the list hides {rows} rows that {drift.field}="
                    f"{drift.sample} shows; a sync asks for them.",
                )


def _of_details(school_id: int, spec: ResourceSpec, details: DetailRows, rows: int) -> Finding:
    return Finding(
        True,
        f"school {school_id}, {spec.name}: the list shows no {details.list}, so a sync asks for each of "
        f"its {rows} rows alone.",
    )


def _scopes(
    school_id: int, asked: list[str], refused: list[str], needed: Sequence[ResourceSpec]
) -> Iterator[Finding]:
    """With which scopes the school was read, since one that is refused may have given way to another; and
    what cannot be read as none of its scopes is granted."""
    without = f" The platform refuses {', '.join(refused)}." if refused else ""
    yield Finding(True, f"school {school_id}: read with the scopes {', '.join(asked)}.{without}")
    lacking: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for spec in needed:
        if spec.scopes and set(spec.scopes) <= set(refused):
            lacking[spec.scopes].append(spec.name)
    for scopes, names in lacking.items():
        yield Finding(
            False,
            f"school {school_id}: the scope {' or '.join(scopes)} is not granted, and {', '.join(names)} "
            f"cannot be read without it. {permission_advice(None, ' or '.join(scopes))}",
        )
