"""Examines the settings, the platform, each of its schools, and the warehouse."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from campus.http.client import Client
from campus.http.errors import PlatformUnavailable
from loading.connection.connected import forget_capabilities, read_capabilities
from loading.discovery.listing import MAX_IDS
from pipelines.cli.doctor.home import (
    examine_files,
    examine_identity_numbers,
    examine_store,
)
from pipelines.cli.doctor.probes import Finding, unavailable
from pipelines.cli.doctor.pushes_and_writes import examine_inbox, examine_pushes, examine_writes
from pipelines.cli.doctor.schools import examine_school, list_schools, needed_resources
from pipelines.cli.terminal.display import console, print_line
from pipelines.lake.opening import lake_without_check
from pipelines.platform import open_platform
from pipelines.runs.storage_failures import disk_problem
from pipelines.settings.settings import Settings, SettingsError, check_home, needs_platform, plain_http
from pipelines.status.maintenance import maintenance_of
from pipelines.status.school_groups import group_by_text, name_schools
from warehouse.lake.logs.tables import DRIFT
from warehouse.load.logs.drift import Difference, in_a_line, latest_drift
from warehouse.load.logs.load_log import holds_a_load, now

# A larger clock skew would break tokens and Retry-After dates.
SKEW_SECONDS = 60


def run_doctor(settings: Settings, *, rediscover: bool = False) -> int:
    """Examine the settings, the platform and the warehouse. Returns the exit status: 1 for any problem.

    `rediscover`: first forget what earlier runs discovered of the platform."""
    if rediscover:
        forget_capabilities(settings.home)
    return asyncio.run(_show(settings, rediscover))


async def _show(settings: Settings, rediscover: bool) -> int:
    problems = 0
    async for finding in _examine(settings, rediscover):
        mark, style = {True: ("ok", "green"), False: ("!!", "bold red"), None: ("--", "yellow")}[finding.good]
        console.print(f"[{style}]{mark}[/]", end=" ")
        print_line(finding.text)
        problems += finding.good is False
    to_mend = f"{problems} thing{'s' * (problems != 1)} to mend."
    print_line(f"\n{to_mend if problems else 'All is well: campus sync can run.'}")
    return int(problems > 0)


async def _examine(settings: Settings, rediscover: bool) -> AsyncIterator[Finding]:
    needs_platform(settings)
    source = "the embedded simulator, with made-up schools" if settings.embedded else settings.base_url
    files = " and ".join(map(str, settings.read_from)) or "the environment alone, since there is no .env"
    yield Finding(
        True, f"The settings are valid: home {settings.home}, platform {source}; read from {files}."
    )
    for name in plain_http(settings):
        yield Finding(
            None,
            f"{name} begins with http://, as CAMPUS_ALLOW_HTTP allows: others on the network can read what "
            "is sent. Use https://, unless you trust the whole network.",
        )
    try:
        check_home(settings)
    except SettingsError as error:
        yield Finding(False, f"{error}. Make it writable for this user, or name another folder.")
    if full := disk_problem(settings.home):
        yield Finding(False, full)
    for finding in (*examine_files(settings), *_examine_services(settings)):
        yield finding
    store = examine_store(settings)
    if store is not None:
        yield store
    lake = _examine_lake(settings) if store is None or store.good else None
    if lake is not None:
        yield lake
    with open_platform(settings) as platform:
        # Short waits: an overloaded platform is a finding.
        config = replace(platform, max_attempts=2, retry_after_cap=5)
        async with Client(config, needed_scopes(settings)) as client:
            async for finding in _examine_platform(client, settings):
                yield finding
        is_readable = all(finding is None or finding.good for finding in (store, lake))
        is_discovered = is_readable and not rediscover and holds_a_load(lake_without_check(settings))
        yield examine_capabilities(settings.home, platform.base_url, is_discovered=is_discovered)
    for finding in (*examine_inbox(settings), *examine_pushes(settings)):
        yield finding
    identity = examine_identity_numbers(settings, lake_without_check(settings)) if is_readable else None
    if identity is not None:
        yield identity
    if is_readable and (drift := _drift(settings)):
        yield Finding(None, f"{in_a_line(drift)}.")
    if is_readable and (maintenance := _maintenance(settings)):
        yield maintenance
    if settings.published.exists():
        yield Finding(True, f"The warehouse is published: {settings.published}.")
    else:
        yield Finding(None, f"{settings.published} is not there yet: campus sync makes it.")


def _examine_services(settings: Settings) -> Iterator[Finding]:
    if settings.names_servers:
        # Only a district has servers, whose libraries take long to import.
        from pipelines.cli.doctor.servers import examine_services

        yield from examine_services(settings)


def _examine_lake(settings: Settings) -> Finding | None:
    if settings.postgres_address is None:
        return None
    from pipelines.cli.doctor.servers import examine_lake

    return examine_lake(settings)


async def _examine_platform(client: Client, settings: Settings) -> AsyncIterator[Finding]:
    """The list of schools, and each school, as far as the platform answers."""
    schools = settings.school_ids or ()
    try:
        listed = await list_schools(client, settings.school_ids)
        yield listed.finding
        ids = [row["id"] for row in listed.rows]
        if ids and (unlisted := [school_id for school_id in schools if school_id not in ids]):
            yield Finding(
                None,
                f"CAMPUS_SCHOOL_IDS names {', '.join(map(str, unlisted))}, and the platform lists "
                f"{', '.join(map(str, ids[:MAX_IDS]))}: correct CAMPUS_SCHOOL_IDS if an id is mistyped.",
            )
        schools = schools or tuple(ids)
    except PlatformUnavailable as halt:
        yield unavailable(halt)
    findings: list[tuple[int, Finding]] = []
    with console.status("") as spinner:
        for school_id in schools:
            if client.health.down:
                break
            spinner.update(f"school {school_id}")
            try:
                of_school = [finding async for finding in examine_school(client, school_id, settings)]
                findings += [(school_id, finding) for finding in of_school]
            except PlatformUnavailable as halt:
                findings.append((school_id, unavailable(halt)))
    for finding in _merged(findings, schools):
        yield finding
    clock = _skew(client.clock_skew)
    # A wrong clock may be why nothing can be read.
    if not client.health.down or clock.good is False:
        yield clock
    if not client.health.down:
        for school_id in schools[:1]:
            yield await examine_writes(client.config, settings, school_id)


def _merged(findings: Sequence[tuple[int, Finding]], schools: Collection[int]) -> Iterator[Finding]:
    """The findings about schools, merged where several schools share them; problems come last."""
    yield from _answers(findings, schools)
    for good in (True, None, False):
        messages = (
            (school_id, _without_school(school_id, finding.text))
            for school_id, finding in findings
            if finding.good is good and not finding.resource
        )
        for common, texts in group_by_text(messages):
            yield Finding(good, name_schools(texts, schools) + common)


def _answers(findings: Sequence[tuple[int, Finding]], schools: Collection[int]) -> Iterator[Finding]:
    """The resources that answered: one finding for all that answered alike in the same schools."""
    schools_of: dict[tuple[str, str], list[int]] = {}
    for school_id, finding in findings:
        if finding.resource:
            answer = finding.text.rpartition(": ")[2].rstrip(".")
            schools_of.setdefault((answer, finding.resource), []).append(school_id)
    resources_of: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for (answer, resource), ids in schools_of.items():
        resources_of.setdefault((answer, tuple(ids)), []).append(resource)
    for (answer, answered_in), resources in resources_of.items():
        named = name_schools(answered_in, schools)
        yield Finding(True, f"{named}, {answer} ({len(resources)}): {', '.join(resources)}.")


def _without_school(school_id: int, text: str) -> str:
    """The text after the name of the school."""
    name = f"school {school_id}"
    return text.removeprefix(name) if text.startswith(name) else f": {text}"


def needed_scopes(settings: Settings) -> list[tuple[str, ...]]:
    """The scopes that a sync with these settings needs, and no others."""
    return [spec.scopes for spec in needed_resources(settings)]


def _drift(settings: Settings) -> list[Difference]:
    """The drift that the last sync found."""
    lake = lake_without_check(settings)
    return latest_drift(lake) if lake.holds(DRIFT) else []


def _maintenance(settings: Settings) -> Finding | None:
    """The last maintenance of the lake, or that it is overdue; None: a new lake needs none yet."""
    account, overdue = maintenance_of(lake_without_check(settings), now())
    if overdue:
        return Finding(False, overdue)
    return Finding(True, account) if account else None


def _skew(seconds: float | None) -> Finding:
    if seconds is None:
        return Finding(None, "The platform's clock is not known: its answers have no Date header.")
    if abs(seconds) <= SKEW_SECONDS:
        return Finding(True, "The platform's clock and this machine's agree.")
    direction = "ahead of" if seconds > 0 else "behind"
    return Finding(
        False,
        f"The platform's clock is {abs(seconds):,.0f} s {direction} this machine's: correct the wrong clock "
        "(NTP).",
    )


REDISCOVER = (
    "After campus doctor --rediscover, the next sync discovers this again; else that happens once a week."
)
NOT_KNOWN = (
    "Whether the platform differs from the specification is not known yet: the next campus sync finds out."
)


def examine_capabilities(home: Path, base_url: str, *, is_discovered: bool) -> Finding:
    """How the platform differs from the interface specification. `is_discovered`: a sync has looked at it."""
    capabilities, _ = read_capabilities(home, base_url)
    differences = []
    if capabilities.page_size is not None:
        differences.append(f"sends at most {capabilities.page_size} rows a page")
    if capabilities.prefix is not None:
        differences.append(f"has datasets and reports under {capabilities.prefix}")
    for rejection in sorted(capabilities.lasting):
        value = f"={rejection.value}" if rejection.value else ""
        differences.append(f"rejects {rejection.parameter}{value} for {rejection.path}")
    if capabilities.confirmation.contradicted:
        differences.append("sent an empty answer today that a later answer contradicted")
    if not differences and not is_discovered:
        return Finding(None, NOT_KNOWN)
    if not differences:
        return Finding(True, "Earlier syncs found no difference between the platform and the specification.")
    return Finding(True, f"The platform, as earlier syncs found it: {'; '.join(differences)}. {REDISCOVER}")
