"""The receiver as a process, asked over HTTP: what it takes, what it refuses, and what outlives a kill."""

import signal
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from loading.pushes.inbox import Inbox, inbox_path, open_inbox
from tests.kits.programs.command_line import campus
from tests.kits.pushes.receiving import Running, receiver
from tests.kits.pushes.signing import TOKEN, a_push, beijing, headers_for
from tests.kits.waiting import PATIENCE

SCHOOL_TOKEN = "the-token-of-102"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("home")
    (home / "campus.yaml").write_text("pushes: {max_bytes: 100000, max_waiting: 50, max_age: 60}")
    with receiver(home, CAMPUS_SCHOOL_IDS="101,102", CAMPUS_PUSH_TOKENS=f"102={SCHOOL_TOKEN}") as receiving:
        yield receiving


def test_a_push_is_in_the_inbox_once_it_is_answered(running: Running) -> None:
    body = a_push(("created", [1, 2]), ("deleted", [{"class_id": 3, "reflection_id": 4}]), resource="学/生")
    assert running.post(body).status_code == 200
    mine = [event for event in running.held() if event.resource == "学/生"]
    assert [(pushed_event.school_id, pushed_event.op, pushed_event.keys) for pushed_event in mine] == [
        (101, "created", (1, 2)),
        (101, "deleted", ({"class_id": 3, "reflection_id": 4},)),
    ]


def test_a_push_that_comes_again_is_one(running: Running) -> None:
    body = a_push(("updated", [9]), resource="again")
    with ThreadPoolExecutor(8) as together:
        answers = list(together.map(running.post, [body] * 8))
    assert {answer.status_code for answer in answers} == {200}
    assert len([event for event in running.held() if event.resource == "again"]) == 1


def _changed(headers: dict[str, str], **changes: str) -> dict[str, str]:
    return headers | {name.replace("_", "-"): value for name, value in changes.items()}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"X_Signature": "0" * 64}, 401),
        ({"X_Signature": ""}, 401),
        ({"X_Nonce": "another"}, 401),
        ({"X_School_Id": "103"}, 401),
        ({"X_School_Id": "102"}, 401),  # which has a token of its own
        ({"X_School_Id": "no number"}, 400),
        ({"X_School_Id": ""}, 400),
        ({"X_Timestamp": "1"}, 200),  # the body has its own, which is what is signed
        ({"X_Timestamp": ""}, 200),
    ],
)
def test_headers_that_are_wrong(running: Running, changes: dict[str, str], status: int) -> None:
    body = a_push(("updated", [1]))
    before = len(running.held())
    answer = running.post(body, _changed(headers_for(body), **changes))
    assert answer.status_code == status
    assert len(running.held()) == before + (status == 200)


def test_a_school_may_have_a_token_of_its_own(running: Running) -> None:
    body = a_push(("updated", [1]))
    assert running.post(body, headers_for(body, token=SCHOOL_TOKEN, school=102)).status_code == 200
    assert running.post(body, headers_for(body, token=SCHOOL_TOKEN, school=101)).status_code == 401


@pytest.mark.parametrize(
    ("ago", "status"), [(-4 * 60, 200), (-6 * 60, 401), (59 * 60, 200), (61 * 60, 401), (10**8, 401)]
)
def test_freshness_goes_by_the_timestamp_that_is_signed(running: Running, ago: float, status: int) -> None:
    body = a_push(("updated", [1]), timestamp=beijing(ago))
    assert running.post(body).status_code == status


def test_a_body_without_a_timestamp_has_that_of_the_header(running: Running) -> None:
    body = a_push(("updated", [1]))
    del body["timestamp"]
    good = headers_for(body)
    assert running.post(body, good).status_code == 200
    assert running.post(body, _changed(good, X_Timestamp=str(int(time.time()) + 1))).status_code == 401
    assert running.post(body, _changed(good, X_Timestamp="")).status_code == 400


def test_what_is_no_push_is_told_so_in_a_few_words(running: Running) -> None:
    assert running.send(b"{", headers_for({})).status_code == 400
    assert running.send(b"[]", headers_for({})).status_code == 400
    body = {"id": "1", "resource": "users", "timestamp": beijing(), "events": "all"}
    answer = running.post(body)
    assert (answer.status_code, answer.text) == (400, "events must be a list")
    assert answer.headers["content-type"] == "text/plain"


def test_a_body_that_is_too_long_is_refused_before_it_is_read(running: Running) -> None:
    body = a_push(("updated", list(range(50_000))))
    assert running.post(body).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(20):
            yield b" " * 10_000

    answer = running.session.post(running.url, content=pieces(), headers=headers_for(body))
    assert answer.status_code == 413


def test_other_paths_and_methods_are_refused(running: Running) -> None:
    assert running.session.get(running.url).status_code == 405
    assert running.session.post(f"{running.url}/elsewhere").status_code == 404


def test_an_inbox_that_is_full_says_later_and_takes_the_push_then(tmp_path: Path) -> None:
    (tmp_path / "campus.yaml").write_text("pushes: {max_waiting: 1}")
    with receiver(tmp_path) as receiving:
        first, second = a_push(("updated", [1])), a_push(("updated", [2]))
        assert receiving.post(first).status_code == 200
        assert receiving.post(second).status_code == 503
        with open_inbox(tmp_path) as inbox:
            inbox.done(inbox.due(101, 10))
        assert receiving.post(second).status_code == 200


def test_a_disk_that_takes_nothing_is_answered_with_503(tmp_path: Path) -> None:
    with receiver(tmp_path) as receiving, closing(sqlite3.connect(inbox_path(tmp_path))) as other:
        other.execute("BEGIN IMMEDIATE")  # as a disk that is full, or another that writes for too long
        body = a_push(("updated", [1]))
        assert receiving.post(body).status_code == 503
        other.rollback()
        assert receiving.post(body).status_code == 200


def test_what_was_answered_outlives_a_kill(tmp_path: Path) -> None:
    """Pushes from eight sides, and a kill -9 in their midst: all that were answered with 200 are there."""
    answered: list[str] = []
    for _ in range(3):
        with receiver(tmp_path) as receiving, ThreadPoolExecutor(8) as together:

            def push(number: int, receiving: Running = receiving) -> None:
                body = a_push(("updated", [number]))
                try:
                    if receiving.post(body).status_code == 200:
                        answered.append(body["id"])
                except httpx.TransportError:
                    pass

            pending = [together.submit(push, number) for number in range(150)]
            # In the order of sending.
            pending[49].result(PATIENCE)
            receiving.process.send_signal(signal.SIGKILL)
    assert len(answered) >= 100
    with closing(sqlite3.connect(inbox_path(tmp_path))) as connection:
        stored_ids = {push_id for (push_id,) in connection.execute("SELECT push_id FROM event")}
    assert set(answered) <= stored_ids


def test_the_inbox_is_synchronized_in_full(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox.sqlite")
    assert inbox._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert inbox._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    inbox.close()


def test_it_ends_quietly_and_logs_neither_secrets_nor_keys(tmp_path: Path) -> None:
    body = a_push(("updated", ["secret-key-of-a-row"]), resource="two\nlines")
    with receiver(tmp_path) as receiving:
        headers = headers_for(body)
        assert receiving.post(body).status_code == 200
        assert receiving.post(body, _changed(headers, X_Signature="1" * 64)).status_code == 401
        receiving.process.send_signal(signal.SIGTERM)
        assert receiving.process.wait(PATIENCE) == 0
    log = (tmp_path / "receiver.log").read_text()
    assert [line[20:] for line in log.splitlines()] == [
        '200 school 101, "two\\nlines": 1 events, 1 rows',
        "401 the signature is not right",
    ]
    for secret in (TOKEN, headers["X-Signature"], headers["X-Nonce"], "secret-key-of-a-row"):
        assert secret not in log


def test_without_a_token_it_does_not_start(tmp_path: Path) -> None:
    done = campus(tmp_path, "push-receiver", CAMPUS_HOME=str(tmp_path))
    assert (done.exit_code, "CAMPUS_PUSH_TOKEN" in done.stderr) == (2, True)


def test_a_token_is_not_shown_by_a_mistake_in_it(tmp_path: Path) -> None:
    done = campus(tmp_path, "push-receiver", CAMPUS_HOME=str(tmp_path), CAMPUS_PUSH_TOKENS="s3cret")
    assert done.exit_code == 2
    assert "s3cret" not in done.stdout + done.stderr
