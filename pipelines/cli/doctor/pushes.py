"""What the doctor says of pushes: whether they are set up, when the last came, and what became of them."""

import socket
import time
from collections.abc import Iterator

from loading.pushes.inbox import Inbox, inbox_path, is_shared, left_behind, opened
from pipelines.cli.doctor.findings import Finding
from pipelines.settings import Settings

#: Characters below which a token could be guessed, seconds to wait for the receiver, days that are counted.
SHORT, PATIENCE, DAYS = 16, 2.0, 7
DAY = 86_400.0


def examine_pushes(settings: Settings) -> Iterator[Finding]:
    """The set-up of pushes, the receiver, and the inbox."""
    if not settings.takes_pushes and not is_shared(settings.home):
        yield Finding(
            None, "No pushes are taken, as CAMPUS_PUSH_TOKEN is not set: changes are found by the next night."
        )
    else:
        if settings.push_token and len(settings.push_token.get_secret_value()) < SHORT:
            yield Finding(False, f"CAMPUS_PUSH_TOKEN is shorter than {SHORT} characters and may be guessed.")
        where = f"{settings.push_host}:{settings.push_port}"
        if _listens(settings):
            yield Finding(True, f"The push receiver listens on {where}.")
        else:
            yield Finding(False, f"No push receiver listens on {where}: start campus push-receiver.")
    if old := left_behind(settings.home):
        folder = inbox_path(settings.home).parent
        yield Finding(False, f"{old} is not read, since there is a folder {folder}: move it there.")
    if inbox_path(settings.home).exists():
        with opened(settings.home) as inbox:
            yield from _examine_inbox(inbox)


def _listens(settings: Settings) -> bool:
    try:
        socket.create_connection((settings.push_host, settings.push_port), PATIENCE).close()
    except OSError:
        return False
    return True


def _examine_inbox(inbox: Inbox) -> Iterator[Finding]:
    last = inbox.last_received()
    if last is None:
        yield Finding(None, "No push has come yet, or none for a long time.")
    else:
        yield Finding(True, f"The last push came {_ago(time.time() - last)} ago.")
    waiting = 0
    for one in inbox.event_counts():
        what = f"school {one.school_id}: {one.events} events of {one.resource!r}"
        if one.state == "unknown":
            yield Finding(None, f"{what} are kept: {one.problem}.")
        elif one.state == "given_up":
            yield Finding(None, f"{what} were given up and left to the next night: {one.problem}.")
        elif one.state == "waiting" and one.problem:
            yield Finding(None, f"{what} are tried again: {one.problem}.")
        elif one.state == "waiting":
            waiting += one.events
    if waiting:
        yield Finding(None, f"{waiting} events wait for Dagster's daemon to drain them.")
    counts = inbox.misses_since(time.time() - DAYS * DAY)
    if counts:
        changed, missed = sum(rows for _, rows, _ in counts), sum(lost for *_, lost in counts)
        most = ", ".join(f"{resource} {lost} of {rows}" for resource, rows, lost in counts if lost)
        yield Finding(
            None if missed else True,
            f"Of {changed} rows that changed in {DAYS} days, {missed} ({missed / changed:.0%}) were not "
            f"announced by a push{': ' + most if most else ''}.",
        )


def _ago(seconds: float) -> str:
    """How long that is, in one number."""
    for unit, length in (("days", DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} seconds"
