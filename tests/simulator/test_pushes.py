"""The simulator's pushes, as the specification has them, against the receiver's reading of it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

import pytest

from campus.push.message import is_signed, parse, parse_push
from campus.registry import BASE_DATA, ResourceSpec
from loading.pushes.names import resources_named
from simulator.process import running
from tests.kits.waiting import PATIENCE

TOKEN = "a-token-of-the-tests"
Taken = Queue[tuple[dict[str, str], bytes]]


@contextmanager
def subscriber(*statuses: int) -> Iterator[tuple[str, Taken]]:
    """An address that takes pushes, and answers the first ones with these statuses."""
    taken: Taken = Queue()
    waiting = [*statuses]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.put(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(waiting.pop(0) if waiting else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", taken
        server.shutdown()


def _verified(headers: dict[str, str], body: bytes) -> dict[str, Any]:
    content = parse(body)
    stamp = int(headers["x-timestamp"])
    assert is_signed(headers["x-signature"], headers["x-nonce"], stamp, content, TOKEN)
    assert not is_signed(headers["x-signature"], headers["x-nonce"], stamp, content, "another")
    parse_push(content, stamp)
    return dict(json.loads(body))


@pytest.mark.parametrize("names", ["names", "paths"])
@pytest.mark.parametrize("slashes", ["plain", "escaped"])
def test_each_change_is_pushed_signed_and_understood(names: str, slashes: str) -> None:
    with (
        subscriber() as (url, taken),
        running(
            schools=1,
            students=12,
            semesters=1,
            push_url=url,
            push_token=TOKEN,
            push_names=names,
            push_slashes=slashes,
        ) as platform,
    ):
        [student, *_] = platform.rows("students", 101)
        [member, *_] = platform.rows("class_members", 101)
        [grade, *_] = platform.rows("grades", 101)
        platform.update("students", student["key"], name="学/生")
        platform.delete("students", student["key"])
        platform.destroy("grades", grade["key"])
        platform.update("class_members", member["key"], class_together=False)
        new = platform.insert("grades", grade["parent"])
        pushed = []
        for _ in range(5):
            headers, body = taken.get(timeout=PATIENCE)
            assert (headers["x-school-id"], headers["content-type"]) == ("101", "application/json")
            message = _verified(headers, body)
            [event] = message["events"]
            pushed.append((resources_named(message["resource"], {}), event["op"], event["pks"]))
    person = ("reflections", "students", "teachers")
    of_class = {
        "class_id": member["parent"],
        "type": member["row"]["type"],
        "reflection_id": member["row"]["reflection_id"],
    }
    assert pushed == [
        (person, "updated", [student["key"]]),
        (person, "deleted", [student["key"]]),
        (("grades",), "deleted", [grade["key"]]),
        (("class_members",), "updated", [of_class]),
        (("grades",), "created", [new["key"]]),
    ]


@pytest.mark.parametrize("spec", BASE_DATA, ids=lambda spec: spec.name)
def test_a_push_may_name_each_resource_as_the_registry_does(spec: ResourceSpec) -> None:
    names = [spec.name, *([] if "{" in spec.path else [spec.path.removeprefix("/api/v3/")])]
    assert all(spec.name in (resources_named(name, {}) or ()) for name in names)


def test_a_push_that_gets_no_2xx_is_sent_again_as_the_same() -> None:
    with subscriber(503) as (url, taken), running(schools=1, students=12, semesters=1) as platform:
        platform.push_to(url, TOKEN)
        [student, *_] = platform.rows("students", 101)
        platform.update("students", student["key"], name="新")
        first, second = (_verified(*taken.get(timeout=PATIENCE)) for _ in range(2))
    assert first == second
