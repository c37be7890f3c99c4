"""An S3 server in a process of its own, and the variables by which a process finds it.

In one's own it would hang: delta-rs keeps the interpreter's lock while it waits for an answer."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

BUCKET = "campus"


@dataclass(frozen=True)
class ObjectStore:
    """A server with one bucket. `environment`: what a process must have to reach it."""

    port: int

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "not-a-secret",
            "AWS_REGION": "us-east-1",
        }

    def fail(self, seconds: float) -> None:
        """Answer everything with 503 for so long."""
        self.ask("PUT", f"/-/fail?{seconds}")

    def requests(self) -> dict[str, int]:
        """How many requests of each method came since this was asked last."""
        counts: dict[str, int] = json.loads(self.ask("GET", "/-/requests"))
        return counts

    def ask(self, method: str, path: str) -> bytes:
        """The body of an answer that must be fine."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (answer.status, body)
        connection.close()
        return body


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A server as long as the block, empty but for its bucket."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, __file__, str(port)], env={**os.environ, "PYTHONPATH": ""})
    store, ends = ObjectStore(port), time.monotonic() + 60
    try:
        while True:
            with suppress(OSError):
                store.ask("PUT", f"/{BUCKET}")
                break
            assert process.poll() is None and time.monotonic() < ends, "the S3 server does not start"
            time.sleep(0.05)
        yield store
    finally:
        process.kill()
        process.wait()


def _serve(port: int) -> None:
    import logging
    from collections import Counter
    from typing import Any

    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    WSGIRequestHandler.protocol_version = "HTTP/1.1"
    moto: Any = DomainDispatcherApplication(create_backend_app)
    counts: Counter[str] = Counter()
    back_at = [0.0]

    def answer(environ: dict[str, Any], start: Any) -> Any:
        path, method, query = environ["PATH_INFO"], environ["REQUEST_METHOD"], environ["QUERY_STRING"]
        if path == "/-/fail":
            back_at[0] = time.monotonic() + float(query)
            start("200 OK", [("Content-Length", "0")])
            return [b""]
        if path == "/-/requests":
            body = json.dumps(counts).encode()
            counts.clear()
            start("200 OK", [("Content-Length", str(len(body)))])
            return [body]
        counts["LIST" if "list-type" in query else method] += 1
        if time.monotonic() < back_at[0]:
            # What was sent has to be read, or it is taken for the next request.
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start("503 Slow Down", [("Content-Length", "0")])
            return [b""]
        return moto(environ, start)

    make_server("127.0.0.1", port, answer, threaded=True).serve_forever()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
