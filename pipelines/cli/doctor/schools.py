"""The doctor's findings about a school: resources, hidden rows, scopes, semesters, datasets and reports."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pyarrow as pa

from campus.attendance.calendar import combine_sightings
from campus.attendance.calendar import decide as decide_weeks
from campus.datasets.layout import why_by_pages
from campus.datasets.metadata import OfferedDatasets, read_datasets
from campus.datasets.selection import Selection, SelectionError, selected_names, unmatched_patterns
from campus.datasets.type_inference import decide, first_rows, needs_values
from campus.decoding.definition import Decided, Definition, parse_definition
from campus.decoding.page import batch_schema
from campus.fetch.answers import PREFIXES
from campus.fetch.reader import Reader
from campus.http.client import Client, segment
from campus.http.errors import ASK_OPERATOR, CampusError, PlatformUnavailable, permission_advice
from campus.plan.units import SliceQuery
from campus.registry import (
    BASE_DATA,
    DATASET_METADATA,
    DATASETS,
    REPORT_METADATA,
    REPORT_PARAMETERS,
    REPORT_QUERIES,
    RESOURCES,
    SCHOOLS,
    V1_DATA,
    ResourceSpec,
)
from campus.registry.spec import DetailRows
from campus.reports.metadata import read_report
from campus.reports.selection import ReportSelection, plan_requests
from campus.sources.gathered import Collector
from campus.sources.hidden_rows import HIDDEN
from campus.sources.slice import read_slice
from loading.datasets.tables import DatasetSpec, dataset_spec
from loading.reports.tables import selections_of
from loading.semesters import COLUMNS, contradiction, seen_now, semesters_of, sightings_of
from pipelines.cli.doctor.probes import (
    Finding,
    Probe,
    Row,
    identified,
    probe,
    probe_query,
    probe_requests,
    refused,
    unavailable,
)
from pipelines.lake.opening import lake_without_check
from pipelines.platform import wanted_reports
from pipelines.settings.settings import Settings
from warehouse.load.logs.load_log import now


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
            await read_slice(client, SliceQuery(school_id), [collector])
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


async def examine_semesters(client: Client, school_id: int, settings: Settings) -> AsyncIterator[Finding]:
    """How semesters of v1 match semesters of v3, and where teaching weeks begin, where both can be read."""
    label = f"school {school_id}, semesters"
    try:
        v1, v3 = [await _semester_rows(client, spec, school_id) for spec in COLUMNS]
    except CampusError:
        # The probe of the list has reported the error already.
        return
    options = settings.options
    semesters = semesters_of(school_id, v1, v3, options.semesters.v3_ids.get(school_id, {}))
    if v1 and v3:
        matched = Counter(pair.matched_by for pair in semesters.pairs.values())
        how = ", ".join(f"{count} by {matched_by}" for matched_by, count in matched.items()) or "none"
        yield Finding(
            True, f"{label}: {len(semesters.pairs)} of {len(v1)} in v1 match one of {len(v3)} in v3 ({how})."
        )
    for problem in semesters.unclear:
        yield Finding(False, problem)
    if semesters.of_v1_alone:
        yield Finding(None, semesters.of_v1_alone)
    sightings = {
        sighting.semester_id: sighting for sighting in sightings_of(lake_without_check(settings), school_id)
    }
    for sighting in seen_now(semesters, now() + timedelta(seconds=client.clock_skew or 0)):
        sightings[sighting.semester_id] = combine_sightings(sightings.get(sighting.semester_id), sighting)
    decision = decide_weeks(options.attendance.weeks_begin, list(sightings.values()))
    if decision.contradicts:
        yield Finding(False, f"school {school_id}: {contradiction(decision)}")
    else:
        others = f"; also possible: {', '.join(decision.others)}" if decision.others else ""
        yield Finding(
            True,
            f"school {school_id}: teaching weeks begin by the rule {decision.rule!r} "
            f"({decision.known_by}{others}).",
        )


async def _semester_rows(client: Client, spec: ResourceSpec, school_id: int) -> list[Row]:
    batches: list[pa.RecordBatch] = []
    await read_slice(client, SliceQuery(school_id), [Collector(spec, "", batches.append)])
    rows = pa.Table.from_batches(batches, batch_schema(spec.contract)).to_pylist()
    return [{**row, "_deleted_at": None} for row in rows]


async def examine_datasets(client: Client, school_id: int, selection: Selection) -> AsyncIterator[Finding]:
    """How many datasets a school has and under which prefix, which options of campus.yaml do not fit, and
    which datasets cannot be read by segments of their ids."""
    label = f"school {school_id}, datasets"
    reader = Reader(client, school_id, DATASETS.scopes)
    try:
        offered = await read_datasets(reader, *(Collector(spec) for spec in DATASET_METADATA))
    except CampusError as error:
        yield Finding(False, f"{label}: {error} To skip datasets, set datasets.include in campus.yaml to [].")
        return
    if offered.prefix is None:
        paths = [prefix + DATASETS.path for prefix in PREFIXES]
        yield Finding(None, f"{label}: not found under {' or '.join(paths)}.")
        return
    for name, reason in offered.unread.items():
        yield Finding(False, f"{label}: {name}: {reason.rstrip('.')}. {ASK_OPERATOR}")
    definitions = {name: parse_definition(sent) for name, sent in offered.definitions.items()}
    wanted = selected_names(selection, definitions)
    examination = _DatasetExamination(reader, school_id, offered, selection, definitions)
    yield Finding(
        True, f"{label}: {len(definitions)} under {offered.prefix}{DATASETS.path}, {len(wanted)} to be read."
    )
    for mistake in unmatched_patterns(selection, [*definitions, *offered.unread]):
        yield Finding(None, f"{label}: {mistake}.")
    by_pages: dict[str, str] = {}
    for name in wanted:
        try:
            by_pages[name] = await examination.why_by_pages(name)
        except SelectionError as error:
            # A line for each option that does not fit.
            for problem in str(error).splitlines():
                yield Finding(False, problem)
        except CampusError as error:
            yield refused(f"{label}: {name}", error)
    if examination.inferred:
        yield Finding(
            None, f"{label}: unknown types, inferred from the values: {', '.join(examination.inferred)}."
        )
    if pages := [f"{name} ({why.rstrip('.')})" for name, why in by_pages.items() if why]:
        yield Finding(None, f"{label}: {len(pages)} are read by pages, not by segments: {'; '.join(pages)}.")


@dataclass
class _DatasetExamination:
    """Examines the datasets of a school, with one or two small requests for each."""

    reader: Reader
    school_id: int
    offered: OfferedDatasets
    selection: Selection
    definitions: dict[str, Definition]
    #: Fields with unknown types, and the types inferred for them.
    inferred: list[str] = field(default_factory=list)

    async def why_by_pages(self, name: str) -> str:
        """Why a dataset is read by pages; empty: it is read by segments of its ids.

        Raises SelectionError where options of campus.yaml do not fit the dataset, else CampusError."""
        dataset = self._spec(name)
        definition, params = dataset.definition, dataset.query.params
        if needs_values(definition, Decided()):
            rows = await first_rows(self.reader, dataset.source.path, params)
            decided = {name: decide(definition, Decided(), rows)}
            definition = self.definitions[name] = parse_definition(self.offered.definitions[name], decided)
            self.inferred += [
                f"{name}.{column.name} ({column.word or 'no type'}: {column.type or 'nothing yet'})"
                for column in definition.fields
                if column.guessed or column.type is None
            ]
            dataset = self._spec(name)
        return await why_by_pages(self.reader, dataset.source)

    def _spec(self, name: str) -> DatasetSpec:
        path = f"{self.offered.prefix}{DATASETS.path}/{segment(name)}/records"
        definition = self.definitions[name]
        return dataset_spec(self.selection, self.school_id, name, path, definition, self.definitions)


async def examine_report(client: Client, school_id: int, wanted: ReportSelection) -> list[Finding]:
    """What a school's report offers, or which options of campus.yaml do not fit the report."""
    collectors = (Collector(spec) for spec in (REPORT_PARAMETERS, REPORT_QUERIES))
    reader = Reader(client, school_id, REPORT_QUERIES.scopes)
    try:
        offered = await read_report(reader, wanted.report, *collectors)
        requests = plan_requests(wanted, offered, school_id)
    except CampusError as error:
        # A line for each option that does not fit.
        return [Finding(False, problem) for problem in str(error).splitlines()]
    return [
        Finding(
            True,
            f"school {school_id}, report {wanted.report!r}: {len(offered.queries)} queries under "
            f"{offered.prefix}{REPORT_QUERIES.path.format(report=wanted.report)}, {len(requests)} results to "
            "be read.",
        )
    ]
