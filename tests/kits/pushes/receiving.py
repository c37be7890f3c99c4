"""A receiver as a process, and what the tests ask of it."""

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from campus.push.message import Push, PushedEvent
from loading.pushes.inbox import Event, open_inbox
from tests.kits.programs.processes import environment_for
from tests.kits.pushes.signing import TOKEN, headers_for

CAMPUS = Path(sys.executable).parent / "campus"


@dataclass
class Running:
    home: Path
    url: str
    process: "subprocess.Popen[str]"
    log: Path
    session: httpx.Client

    def post(self, body: dict[str, Any], headers: dict[str, str] | None = None) -> httpx.Response:
        return self.send(json.dumps(body).encode(), headers or headers_for(body))

    def send(self, content: bytes, headers: dict[str, str]) -> httpx.Response:
        return self.session.post(self.url, content=content, headers=headers)

    def held(self) -> list[Event]:
        with open_inbox(self.home) as inbox:
            return inbox.due(101, 1000)


@contextmanager
def receiver(home: Path, **variables: str) -> Iterator[Running]:
    environment = environment_for(home, CAMPUS_PUSH_TOKEN=TOKEN, CAMPUS_PUSH_PORT="0") | variables
    log = home / "receiver.log"
    with log.open("a+") as output:
        process = subprocess.Popen(
            [CAMPUS, "push-receiver"], env=environment, stdout=subprocess.PIPE, stderr=output, text=True
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "listening on" in line, log.read_text()
            # One for all that is asked: each reads the system's certificates, which takes longer than a push.
            with httpx.Client(trust_env=False, timeout=30) as session:
                yield Running(home, line.split()[-1], process, log, session)
        finally:
            process.kill()
            process.wait()
            output.write(process.stdout.read() if process.stdout else "")


def leave_push(home: Path, school: int, resource: str, *keys: Any) -> None:
    """Put a push into the inbox of a home: these rows were changed."""
    push = Push(str(uuid.uuid4()), resource, datetime.now(UTC), (PushedEvent("updated", keys),))
    with open_inbox(home) as inbox:
        assert inbox.add(school, push, 1000)
