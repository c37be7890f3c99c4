"""The doctor's findings about pushes and writes: their set-up, the last push, and its events."""

import time
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection, HTTPException

from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.http.errors import PlatformUnavailable
from campus.registry import RESOURCES
from campus.registry.v1 import CLASS_SCOPES, USER_SCOPES
from loading.pushes.inbox import Inbox, inbox_path, is_shared, left_behind, open_inbox
from pipelines.cli.doctor.probes import Finding, probe, unavailable
from pipelines.pushes.request_head import ONLY_POST
from pipelines.settings.settings import Settings
from warehouse.rounding import percent
from writeback.inbox.folder import list_arrived
from writeback.kinds import ATTENDANCE, ROSTERS, SWIPES

#: Characters below which a token could be guessed; seconds to wait for the receiver; days of statistics.
SHORT, PATIENCE, DAYS = 16, 2.0, 7
#: Bytes of an answer of the receiver that are read at most.
LONGEST_ANSWER = 100
DAY = 86_400.0


def examine_pushes(settings: Settings) -> Iterator[Finding]:
    """The set-up of pushes, the receiver, and the inbox."""
    if not settings.takes_pushes and not is_shared(settings.home):
        yield Finding(
            None, "Pushes are off, since CAMPUS_PUSH_TOKEN is not set: the next night finds changes."
        )
    else:
        if settings.push_token and len(settings.push_token.get_secret_value()) < SHORT:
            yield Finding(
                False,
                f"CAMPUS_PUSH_TOKEN is shorter than {SHORT} characters and may be guessed: agree on a longer "
                "one with the platform's operator.",
            )
        address = f"{settings.push_host}:{settings.push_port}"
        answer = _answer_of_port(settings)
        if answer is None:
            yield Finding(False, f"No push receiver listens on {address}: start campus push-receiver.")
        elif answer == ONLY_POST:
            yield Finding(True, f"The push receiver listens on {address}.")
        else:
            yield Finding(
                False,
                f"What listens on {address} does not answer as the push receiver does: end that program, or "
                "set CAMPUS_PUSH_PORT to a free port; then start campus push-receiver.",
            )
    if old := left_behind(settings.home):
        folder = inbox_path(settings.home).parent
        yield Finding(False, f"{old} is not read, since the folder {folder} exists: move the file there.")
    if inbox_path(settings.home).exists():
        with open_inbox(settings.home) as inbox:
            yield from _examine_inbox(inbox)


def _answer_of_port(settings: Settings) -> str | None:
    """What answers a GET to the port of the receiver; "" for no HTTP, None: nothing listens."""
    connection = HTTPConnection(settings.push_host, settings.push_port, PATIENCE)
    try:
        connection.connect()
    except OSError:
        return None
    try:
        connection.request("GET", "/")
        return connection.getresponse().read(LONGEST_ANSWER).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return ""
    finally:
        connection.close()


def _examine_inbox(inbox: Inbox) -> Iterator[Finding]:
    last = inbox.last_received()
    if last is None:
        yield Finding(None, "No push has arrived yet, or none for a long time.")
    else:
        yield Finding(True, f"The last push arrived {_duration(time.time() - last)} ago.")
    waiting = 0
    for count in inbox.event_counts():
        events = f"school {count.school_id}: {count.events} events of {count.resource!r}"
        if count.state == "unknown":
            yield Finding(None, f"{events} are kept: {count.problem}.")
        elif count.state == "given_up":
            yield Finding(None, f"{events} were given up and left to the next night: {count.problem}.")
        elif count.state == "waiting" and count.problem:
            yield Finding(None, f"{events} are tried again: {count.problem}.")
        elif count.state == "waiting":
            waiting += count.events
    if waiting:
        yield Finding(None, f"{waiting} events wait for Dagster's daemon to load them.")
    counts = inbox.misses_since(time.time() - DAYS * DAY)
    if counts:
        changed, missed = sum(rows for _, rows, _ in counts), sum(lost for *_, lost in counts)
        details = ", ".join(f"{resource} {lost} of {rows}" for resource, rows, lost in counts if lost)
        yield Finding(
            None if missed else True,
            f"Of {changed} rows that changed in {DAYS} days, {missed} ({percent(missed, changed, 0)}%) were "
            f"not announced by a push{': ' + details if details else ''}.",
        )


def _duration(seconds: float) -> str:
    """A duration in its largest unit."""
    for unit, length in (("days", DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} seconds"


OFF = (
    "Writing to the platform is off, since CAMPUS_ALLOW_WRITES is not true. A write also needs a scope in "
    "writes.scopes of campus.yaml: ask the platform's operator, since the interface names none."
)
NO_SCOPE = "Writes are allowed, with the scopes for reading, since writes.scopes of campus.yaml is empty."
ONLY_A_WRITE = "Only a write shows whether that is enough."
# A short list. Any request makes the client fetch a token.
FIELDS = RESOURCES["user_fields"]


async def examine_writes(platform: ClientConfig, settings: Settings, school_id: int) -> Finding:
    """Whether writes are allowed, and the platform grants a token for writes. Nothing is written."""
    scopes = settings.options.writes.scopes
    if not settings.allow_writes:
        return Finding(None, OFF)
    if not scopes:
        return Finding(None, f"{NO_SCOPE} {ONLY_A_WRITE}")
    config = replace(platform, extra_scopes=(*platform.extra_scopes, *scopes))
    async with Client(config, (USER_SCOPES, CLASS_SCOPES)) as client:
        try:
            await probe(client, FIELDS, school_id, FIELDS.path)
        except PlatformUnavailable as halt:
            return Finding(
                False, f"Writes are allowed, and the token for them is refused: {unavailable(halt).text}"
            )
        _, refused = client.scopes_of(school_id)
    lacking = ", ".join(scope for scope in scopes if scope in refused)
    if lacking:
        return Finding(
            False,
            f"Writes are allowed, and the platform refuses the scope {lacking}, which writes.scopes of "
            f"campus.yaml names: ask the platform's operator to grant it, or for the right name.",
        )
    return Finding(True, f"Writes are allowed, with the scopes {', '.join(scopes)}. {ONLY_A_WRITE}")


def examine_inbox(settings: Settings) -> list[Finding]:
    """Whether the folder of arriving files can be read; empty where the settings name none."""
    folder, problems = settings.options.writes.inbox.folder, list[str]()
    if folder is None:
        return []
    try:
        for kind in (ROSTERS, ATTENDANCE, SWIPES):
            list_arrived(folder, kind, settings.school_ids, problems.append)
    except OSError as error:
        reason = f"{folder} (writes.inbox.folder) cannot be read: {error.strerror}"
        return [Finding(False, f"{reason}. Make the folder for this user, or name another one.")]
    if problems:
        return [Finding(False, f"{problem}.") for problem in dict.fromkeys(problems)]
    return [Finding(True, f"Dagster's daemon reads files that arrive in {folder}.")]
