"""Pushes in the inbox: what the doctor says of them, and how those that fail are tried again."""

import socket
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr

from campus.push.message import Push, PushedEvent
from loading.pushes.drain import UNKNOWN, _batches
from loading.pushes.inbox import ATTEMPTS, Event, Misses, open_inbox
from pipelines.cli.doctor.probes import Finding
from pipelines.cli.doctor.pushes_and_writes import examine_pushes
from pipelines.settings.settings import Settings
from tests.kits.pushes.receiving import receiver
from tests.kits.servers.answering import answering


def said(settings: Settings) -> dict[str, bool | None]:
    return {finding.text: finding.good for finding in _found(settings)}


def _found(settings: Settings) -> list[Finding]:
    return list(examine_pushes(settings))


def test_pushes_that_are_not_set_up_are_no_fault(tmp_path: Path) -> None:
    [finding] = _found(Settings(home=tmp_path))
    assert finding.good is None and "CAMPUS_PUSH_TOKEN is not set" in finding.text


def test_a_receiver_that_is_away_and_a_token_that_is_short(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = Settings(home=tmp_path, push_token=SecretStr("x" * 32), push_port=port)
    short = settings.model_copy(update={"push_token": SecretStr("short")})
    assert list(said(short).values()) == [False, False]
    assert "short'" not in str(said(short))


def test_the_receiver_is_told_from_another_program(tmp_path: Path) -> None:
    with receiver(tmp_path) as running:
        port = int(running.url.rpartition(":")[2])
        settings = Settings(home=tmp_path, push_token=SecretStr("x" * 32), push_port=port)
        assert said(settings)[f"The push receiver listens on 127.0.0.1:{port}."] is True
    with answering(b"[]") as url:
        port = int(url.rpartition(":")[2])
        text, good = next(iter(said(settings.model_copy(update={"push_port": port})).items()))
    assert good is False
    assert text.startswith(f"What listens on 127.0.0.1:{port} does not answer as the push receiver does: end")


def test_events_of_a_broken_batch_come_to_stand_alone() -> None:
    def sizes(attempts: int, events: int) -> list[int]:
        made = [Event(seq, 101, "grades", "updated", (), 0, 0, attempts) for seq in range(events)]
        return [len(batch) for batch in _batches(made)]

    assert [sizes(attempts, 120) for attempts in range(3)] == [[120], [50, 50, 20], [5] * 24]
    assert sizes(3, 3) == sizes(7, 3) == [1, 1, 1]


def test_what_became_of_events_is_said_with_the_reason(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with open_inbox(tmp_path) as inbox:
        for number, resource in enumerate(["permissions", "grades", "scores", "students"]):
            event = PushedEvent("updated", ("key of a row",))
            inbox.add(101, Push(str(number), resource, datetime.now(UTC), (event,)), 10)
        unknown, broken, retried, _ = inbox.due(101, 10)
        inbox.unknown([unknown], UNKNOWN)
        for _ in range(ATTEMPTS):
            inbox.failed([broken], "status 500")
            broken = replace(broken, attempts=broken.attempts + 1)
        inbox.failed([retried], "status 503")
        inbox.measured(Misses(101, "scores", "101:20", 0, time.time(), 40, 10))
    words = said(settings)
    output = "\n".join(words)
    assert (
        "school 101: 1 events of 'permissions' are kept: no resource of ours is known by this name" in output
    )
    assert "school 101: 1 events of 'grades' were given up and left to the next night: status 500." in output
    assert "school 101: 1 events of 'scores' are tried again: status 503." in output
    assert "1 events wait for Dagster's daemon" in output
    assert "The last push arrived 0 seconds ago." in output
    assert (
        "Of 40 rows that changed in 7 days, 10 (25%) were not announced by a push: scores 10 of 40." in output
    )
    assert "key of a row" not in output
    assert False not in words.values()
