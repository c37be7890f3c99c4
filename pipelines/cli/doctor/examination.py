"""The doctor's round: the settings, the platform, each of its schools, and the warehouse."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import replace

from campus.http.client import Client
from campus.http.errors import PlatformUnavailable
from loading.capabilities import forget_capabilities
from loading.discovery.listing import MOST_IDS
from pipelines.cli.display import console
from pipelines.cli.doctor.capabilities import examine_capabilities
from pipelines.cli.doctor.files import examine_files
from pipelines.cli.doctor.findings import Finding
from pipelines.cli.doctor.identity import examine_past
from pipelines.cli.doctor.pushes import examine_pushes
from pipelines.cli.doctor.schools import examine_school, list_schools, needed_resources
from pipelines.cli.doctor.services import examine_lake, examine_services, examine_store
from pipelines.cli.doctor.writes import examine_inbox, examine_writes
from pipelines.lake import lake_without_check
from pipelines.of_schools import alike, named
from pipelines.resources import open_platform
from pipelines.settings import Settings, SettingsError, check_home, needs_platform, plain_http
from warehouse.lake.log_tables import DRIFT
from warehouse.load.drift import Difference, in_a_line, latest

# Tokens and Retry-After dates go by the clock; a skew below this harms nothing.
SKEW_SECONDS = 60


def run_doctor(settings: Settings, *, rediscover: bool = False) -> int:
    """Examine the settings, the platform and the warehouse. The exit status: 1 where something is wrong.

    rediscover: forget first what earlier runs found of the platform's capabilities."""
    if rediscover:
        forget_capabilities(settings.home)
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
    needs_platform(settings)
    source = "the embedded simulator, with made-up schools" if settings.embedded else settings.base_url
    files = " and ".join(map(str, settings.read_from)) or "the environment alone, as there is no .env"
    yield Finding(
        True, f"The settings make sense: home {settings.home}, platform {source}; read from {files}."
    )
    for name in plain_http(settings):
        yield Finding(
            None,
            f"{name} begins with http://, as CAMPUS_ALLOW_HTTP lets it: whoever is on the way reads along.",
        )
    try:
        check_home(settings)
    except SettingsError as error:
        yield Finding(False, f"{error}.")
    for finding in (*examine_files(settings), *examine_services(settings)):
        yield finding
    store = examine_store(settings)
    if store is not None:
        yield store
    lake = examine_lake(settings) if store is None or store.good else None
    if lake is not None:
        yield lake
    with open_platform(settings) as platform:
        # A doctor's patience is short: an overloaded platform is a finding, not something to wait for.
        config = replace(platform, max_attempts=2, retry_after_cap=5)
        async with Client(config, needed_scopes(settings)) as client:
            async for finding in _examine_platform(client, settings):
                yield finding
        yield examine_capabilities(settings.home, platform.base_url)
    for finding in (*examine_inbox(settings), *examine_pushes(settings)):
        yield finding
    is_readable = all(finding is None or finding.good for finding in (store, lake))
    past = examine_past(settings, lake_without_check(settings)) if is_readable else None
    if past is not None:
        yield past
    if is_readable and (drift := _drift(settings)):
        yield Finding(None, f"{in_a_line(drift)}.")
    if settings.published.exists():
        yield Finding(True, f"The warehouse is published: {settings.published}.")
    else:
        yield Finding(None, f"{settings.published} is not there yet: campus sync makes it.")


async def _examine_platform(client: Client, settings: Settings) -> AsyncIterator[Finding]:
    """The list of schools and each of them, as far as the platform answers."""
    schools = settings.school_ids or ()
    try:
        listed = await list_schools(client, settings.school_ids)
        yield listed.finding
        ids = [row["id"] for row in listed.rows]
        if ids and (unlisted := [each for each in schools if each not in ids]):
            yield Finding(
                None,
                f"CAMPUS_SCHOOL_IDS names {', '.join(map(str, unlisted))}, and the platform lists "
                f"{', '.join(map(str, ids[:MOST_IDS]))}: mend it where the id is mistyped.",
            )
        schools = schools or tuple(ids)
    except PlatformUnavailable as halt:
        yield Finding(False, str(halt))
    found: list[tuple[int, Finding]] = []
    with console.status("") as busy:
        for school_id in schools:
            if client.health.down:
                break
            busy.update(f"school {school_id}")
            try:
                found += [(school_id, each) async for each in examine_school(client, school_id, settings)]
            except PlatformUnavailable as halt:
                found.append((school_id, Finding(False, str(halt))))
    for finding in _together(found, schools):
        yield finding
    if not client.health.down:
        yield _skew(client.clock_skew)
        for school_id in schools[:1]:
            yield await examine_writes(client.config, settings, school_id)


def _together(found: Sequence[tuple[int, Finding]], schools: Collection[int]) -> Iterator[Finding]:
    """What was found of schools, once where several have it in common; what is to be mended comes last."""
    for good in (True, None, False):
        said = ((school_id, _of_it(school_id, each.text)) for school_id, each in found if each.good is good)
        for common, texts in alike(said):
            yield Finding(good, named(texts, schools) + common)


def _of_it(school_id: int, text: str) -> str:
    """What is said behind the name of the school."""
    name = f"school {school_id}"
    return text.removeprefix(name) if text.startswith(name) else f": {text}"


def needed_scopes(settings: Settings) -> list[tuple[str, ...]]:
    """What a sync with these settings needs; nobody has to grant more."""
    return [spec.scopes for spec in needed_resources(settings)]


def _drift(settings: Settings) -> list[Difference]:
    """What the last sync found new in what the platform sends."""
    lake = lake_without_check(settings)
    return latest(lake) if lake.holds(DRIFT) else []


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
