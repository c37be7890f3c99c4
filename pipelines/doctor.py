"""The doctor: asks a platform one small question of each kind, and says in words what is right, what is wrong
and what to do about it."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from assets.report_tables import selections_of
from assets.users import STUDENT
from campus.client import Client, segment
from campus.collect import Collector
from campus.datasets.definition import parse_definition
from campus.datasets.metadata import read_datasets
from campus.datasets.selection import Selection, SelectionError, ask_for, chosen, unmatched
from campus.errors import CampusError, Forbidden, NotFound, TornBody, UnexpectedAnswer
from campus.paging import V1_NAMES, V3_NAMES
from campus.parts import SPLITTERS, unwrapped
from campus.prefixes import PREFIXES
from campus.reports.metadata import read_report
from campus.reports.parameters import ask_for as ask_report
from campus.reports.selection import ReportSelection
from campus.resources import (
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
from pipelines.display import console
from pipelines.resources import open_platform, term_types, wanted_reports
from pipelines.settings import Settings, SettingsError, check_home

FIRST_ROWS = {names: {names.page: "1", names.per_page: "5"} for names in (V1_NAMES, V3_NAMES)}
# In which a 404 is a normal answer: nothing there, or nothing bound.
MAY_BE_ABSENT = ("by_class", "by_item", "by_term_type", "by_student", "by_device", "by_card")
WRONG_ADDRESS = "Check that CAMPUS_BASE_URL is the platform's own address, and ask its operator."
Row = dict[str, Any]
# Tokens and Retry-After dates go by the clock; a skew below this harms nothing.
SKEW_SECONDS = 60


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `good`: None where it is neither right nor wrong."""

    good: bool | None
    text: str


def run_doctor(settings: Settings) -> int:
    """Examine the settings, the platform and the warehouse. The exit status: 1 where something is wrong."""
    return asyncio.run(_show(settings))


async def _show(settings: Settings) -> int:
    bad = 0
    async for finding in _examine(settings):
        mark, style = {True: ("ok", "green"), False: ("!!", "bold red"), None: ("--", "yellow")}[finding.good]
        console.print(f"[{style}]{mark}[/]", end=" ")
        console.print(finding.text, markup=False, soft_wrap=True)
        bad += finding.good is False
    console.print(
        f"\n{bad} thing{'s' * (bad != 1)} to mend." if bad else "\nAll is well: campus sync can run."
    )
    return int(bad > 0)


async def _examine(settings: Settings) -> AsyncIterator[Finding]:
    source = (
        "the embedded simulator, as CAMPUS_BASE_URL is not set" if settings.embedded else settings.base_url
    )
    yield Finding(True, f"The settings make sense: home {settings.home}, platform {source}.")
    try:
        check_home(settings)
    except SettingsError as error:
        yield Finding(False, f"{error}.")
    with open_platform(settings) as platform:
        # A doctor's patience is short: an overloaded platform is a finding, not something to wait for.
        config = replace(platform, max_attempts=2, retry_after_cap=5)
        async with Client(config, needed_scopes(settings)) as client:
            listed = await _schools(client, settings.school_ids)
            yield listed.finding
            for school_id in settings.school_ids or [row["id"] for row in listed.rows]:
                async for finding in _school(client, school_id, settings):
                    yield finding
            yield _skew(client.clock_skew)
    if settings.published.exists():
        yield Finding(True, f"The warehouse is published: {settings.published}.")
    else:
        yield Finding(None, f"{settings.published} is not there yet: campus sync makes it.")


def needed_scopes(settings: Settings) -> list[tuple[str, ...]]:
    """What a sync with these settings needs; nobody has to grant more."""
    unwanted: set[ResourceSpec] = set()
    if not settings.options.datasets.selection.include:
        unwanted.update(DATASET_METADATA)
    if not wanted_reports(settings):
        unwanted.update(REPORT_METADATA)
    return [spec.scopes for spec in RESOURCES.values() if spec not in unwanted]


@dataclass(frozen=True)
class Asked:
    """The answer to one small question: what to say of it, and its rows."""

    finding: Finding
    rows: list[Row]


async def _schools(client: Client, school_ids: tuple[int, ...] | None) -> Asked:
    asked = await _ask(client, SCHOOLS, school_ids[0] if school_ids else None, SCHOOLS.path)
    if asked.finding.good or not school_ids:
        return asked
    # Named schools can be read without the list; only their names will be missing.
    return Asked(
        Finding(None, f"{asked.finding.text} The schools that CAMPUS_SCHOOL_IDS names do not need it."), []
    )


async def _school(client: Client, school_id: int, settings: Settings) -> AsyncIterator[Finding]:
    """One finding a resource. Later questions are made from the rows of earlier ones: a class, an item."""
    rows: dict[str, list[Row]] = {}
    for spec in (*BASE_DATA, *V1_DATA):
        for path, params in _questions(spec, rows, settings, client.config.client_id):
            asked = await _ask(client, spec, school_id, path, params)
            rows[spec.name] = asked.rows
            yield asked.finding
            if asked.finding.good is False and spec is BASE_DATA[0]:
                # Where not even semesters can be read, thirty more refusals would say no more.
                return
    selection = settings.options.datasets.selection
    if selection.include:
        async for finding in _datasets(client, school_id, selection):
            yield finding
    for wanted in selections_of(wanted_reports(settings), school_id).values():
        yield await _report(client, school_id, wanted)


def _questions(
    spec: ResourceSpec, rows: dict[str, list[Row]], settings: Settings, client_id: str
) -> list[tuple[str, dict[str, str]]]:
    """The path and parameters of a small question for a resource; none where there is nothing to ask with."""
    first = FIRST_ROWS[V1_NAMES if spec.is_v1 else V3_NAMES] if spec.paged else {}
    if spec.embedded_in:
        return []
    match spec.asked:
        case "once":
            return [(spec.path, first)]
        case "by_role":
            return [(spec.path, {"role": str(STUDENT), **first})]
        case "by_app":
            return [(spec.path, {"client_id": client_id})]
        case "by_term_type":
            return [(_named(spec, kind), first) for kind in term_types(settings)[:1]]
        case "by_device":
            return [(_named(spec, one), {}) for one in settings.device_ids[:1]]
        case "by_card":
            return [(_named(spec, one), {}) for one in settings.card_ids[:1]]
        case "by_semester" | "members":
            semesters = rows.get("semesters", [])
            current = next((row for row in semesters if row.get("is_current")), next(iter(semesters), None))
            return [(spec.path, {"semester_id": str(current["id"]), **first})] if current else []
        case "by_class" | "by_student":
            parents = rows.get(spec.child_of or "", [])
            return [(_named(spec, row["id"]), spec.params) for row in parents[:1]]
        case "by_item":
            items = [item for row in rows.get("assessments", []) for item in _identified(row.get("items"))]
            return [(_named(spec, item["id"]), first) for item in items[:1]]
        case "by_class_batch":
            return [
                (spec.path, {"class_ids": str(row["id"]), **first}) for row in rows.get("classes", [])[:1]
            ]
    return []


def _named(spec: ResourceSpec, one: str | int) -> str:
    return spec.path.format(id=segment(one), type=segment(one))


async def _ask(
    client: Client, spec: ResourceSpec, school_id: int | None, path: str, params: dict[str, str] | None = None
) -> Asked:
    label = spec.name if school_id is None else f"school {school_id}, {spec.name}"
    try:
        answer = await client.get(
            path,
            params or {},
            school_id=school_id,
            scope=spec.scopes,
            parse=partial(_rows, spec),
            anonymous=spec.anonymous,
        )
    except NotFound as error:
        if spec.asked in MAY_BE_ABSENT:
            return Asked(Finding(True, f"{label}: answers, with nothing there."), [])
        return Asked(Finding(False, f"{label}: {error}"), [])
    except CampusError as error:
        return Asked(Finding(False, f"{label}: {error}"), [])
    return Asked(Finding(True, f"{label}: answers."), answer.value)


def _rows(spec: ResourceSpec, body: bytes) -> list[Row]:
    """The rows of an answer: a list of them, or where one object is asked for, one or none.

    Raises TornBody for no JSON and UnexpectedAnswer for anything but rows."""
    value = _decoded(unwrapped(body) if spec.is_v1 else body)
    if spec.single or spec.name in SPLITTERS:
        value = [value] if value else []
    rows = [] if value is None else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnexpectedAnswer("the answer is not made of rows.", WRONG_ADDRESS)
    if "id" in spec.primary_key and len(_identified(rows)) < len(rows):
        raise UnexpectedAnswer("the rows have no id that is a number.", WRONG_ADDRESS)
    return rows


def _decoded(body: bytes) -> Any:
    # Python's own decoder is as lenient as a sync: half a surrogate pair or a NaN is no torn answer.
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise TornBody(str(error)) from error


def _identified(value: Any) -> list[Row]:
    """Those rows that a later question can name."""
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), int)]


async def _datasets(client: Client, school_id: int, selection: Selection) -> AsyncIterator[Finding]:
    """How many datasets a school has and under which prefix, and what of campus.yaml does not fit them."""
    label = f"school {school_id}, datasets"
    try:
        offered = await read_datasets(
            client, school_id, *(Collector(spec, "", lambda _: None) for spec in DATASET_METADATA)
        )
    except CampusError as error:
        yield Finding(None if isinstance(error, Forbidden) else False, f"{label}: {error}")
        return
    if offered.prefix is None:
        paths = [prefix + DATASETS.path for prefix in PREFIXES]
        yield Finding(None, f"{label}: under neither {' nor '.join(paths)}.")
        return
    for name, reason in offered.unread.items():
        yield Finding(False, f"{label}: {name}: {reason}")
    definitions = {name: parse_definition(sent) for name, sent in offered.definitions.items()}
    wanted = chosen(selection, definitions)
    yield Finding(
        True, f"{label}: {len(definitions)} under {offered.prefix}{DATASETS.path}, {len(wanted)} to be read."
    )
    for mistake in unmatched(selection, [*definitions, *offered.unread]):
        yield Finding(None, f"{label}: {mistake}.")
    for name in wanted:
        try:
            ask_for(selection, definitions[name], definitions, school_id)
        except SelectionError as error:
            yield Finding(False, str(error))


async def _report(client: Client, school_id: int, wanted: ReportSelection) -> Finding:
    """What a school's report offers, or what of campus.yaml does not fit it."""
    nowhere = (Collector(spec, "", lambda _: None) for spec in (REPORT_PARAMETERS, REPORT_QUERIES))
    try:
        offered = await read_report(client, school_id, wanted.report, *nowhere)
        questions = ask_report(wanted, offered, school_id)
    except CampusError as error:
        return Finding(False, str(error))
    return Finding(
        True,
        f"school {school_id}, report {wanted.report!r}: {len(offered.queries)} queries under "
        f"{offered.prefix}{REPORT_QUERIES.path.format(report=wanted.report)}, {len(questions)} results to be "
        f"read.",
    )


def _skew(seconds: float | None) -> Finding:
    if seconds is None:
        return Finding(None, "The platform's clock is unknown: its token answers carry no Date.")
    if abs(seconds) <= SKEW_SECONDS:
        return Finding(True, "The platform's clock and this machine's agree.")
    way = "ahead of" if seconds > 0 else "behind"
    return Finding(
        False,
        f"The platform's clock is {abs(seconds):.0f} s {way} this machine's: set the wrong one right (NTP).",
    )
