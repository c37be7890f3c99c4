"""The doctor's findings about a school: each resource, hidden rows, and scopes."""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence

from campus.http.client import Client
from campus.http.errors import CampusError, PlatformUnavailable, permission_advice
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
from pipelines.cli.doctor.findings import Finding, unavailable
from pipelines.cli.doctor.probes import Probe, Row, identified, probe, probe_query, probe_requests
from pipelines.cli.doctor.reports import examine_report
from pipelines.cli.doctor.semesters import examine_semesters
from pipelines.resources import wanted_reports
from pipelines.settings.settings import Settings


def needed_resources(settings: Settings) -> list[ResourceSpec]:
    """The resources that a sync with these settings reads."""
    unwanted: set[ResourceSpec] = set()
    if not settings.options.datasets.selection.include:
        unwanted.update(DATASET_METADATA)
    if not wanted_reports(settings):
        unwanted.update(REPORT_METADATA)
    return [spec for spec in RESOURCES.values() if spec not in unwanted]


async def list_schools(client: Client, school_ids: tuple[int, ...] | None) -> Probe:
    """The schools that the platform lists. No rows if the platform refuses the list and the settings name
    schools."""
    # A platform may require a school in the header, or refuse the school of the settings.
    for header in dict.fromkeys([*(school_ids or ())[:1], None]):
        try:
            schools = await probe(client, SCHOOLS, header, SCHOOLS.path)
        except PlatformUnavailable as halt:
            if halt.school_id is None:
                raise
            schools = Probe(unavailable(halt), [])
        if schools.finding.good or not school_ids:
            return schools
    # Schools in the settings can be read without the list; only their names are missing then.
    return Probe(
        Finding(
            None, f"{schools.finding.text} The schools of CAMPUS_SCHOOL_IDS can be loaded without the list."
        ),
        [],
    )


async def examine_school(client: Client, school_id: int, settings: Settings) -> AsyncIterator[Finding]:
    """The findings about a school. Later requests take their ids from the rows of earlier requests."""
    rows: dict[str, list[Row]] = {}
    # The semesters of both interfaces first: other resources need their ids.
    specs = dict.fromkeys((*COLUMNS, *BASE_DATA, *V1_DATA))
    unread = set[ResourceSpec]()
    for spec in specs:
        if spec.embedded_as:
            parents = rows.get(spec.embedded_in or "", [])
            rows[spec.name] = [child for row in parents for child in identified(row.get(spec.embedded_as))]
        query = probe_query(school_id, spec, rows, settings, client.config.client_id)
        for path, params in probe_requests(spec, query):
            answer = await probe(client, spec, school_id, path, params)
            rows[spec.name] = answer.rows
            yield answer.finding
            details = spec.source(DetailRows)
            if details and answer.rows and not any(row.get(details.list) for row in answer.rows):
                yield Finding(
                    True,
                    f"school {school_id}, {spec.name}: the list shows no {details.list}, so a sync requests "
                    f"each of its {len(answer.rows)} rows alone.",
                )
            if answer.finding.good is False:
                unread.add(spec)
            if unread >= COLUMNS.keys():
                # Without semesters, all other requests would fail for the same reason.
                return
    async for finding in examine_semesters(client, school_id, settings):
        yield finding
    async for finding in _hidden_rows(client, school_id):
        yield finding
    for finding in _scopes(school_id, *client.scopes_of(school_id), needed_resources(settings)):
        yield finding
    selection = settings.options.datasets.selection
    if selection.include:
        async for finding in examine_datasets(client, school_id, selection):
            yield finding
    for wanted in selections_of(wanted_reports(settings), school_id).values():
        for finding in await examine_report(client, school_id, wanted):
            yield finding


async def _hidden_rows(client: Client, school_id: int) -> AsyncIterator[Finding]:
    """The lists that hide rows unless a request names their status."""
    for spec in BASE_DATA:
        if not spec.hidden_filters or spec.mode != "once":
            continue
        collector = Collector(spec)
        try:
            await read(client, spec, SliceQuery(school_id), collector)
        except CampusError:
            # The probe of this list has reported the error already.
            continue
        for drift, rows in collector.account.drift.items():
            if drift.kind == HIDDEN:
                yield Finding(
                    True,
                    f"school {school_id}, {spec.name}: the list hides {rows} rows that {drift.field}="
                    f"{drift.sample} shows; a sync requests them, too.",
                )


def _scopes(
    school_id: int, scopes_used: list[str], refused: list[str], needed: Sequence[ResourceSpec]
) -> Iterator[Finding]:
    """The scopes with which the school was read, and the resources that no granted scope can read."""
    refusals = f" The platform refuses {', '.join(refused)}." if refused else ""
    yield Finding(True, f"school {school_id}: read with the scopes {', '.join(scopes_used)}.{refusals}")
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
