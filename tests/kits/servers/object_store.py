"""An S3 server in a process of its own, and the variables by which a process finds it.

In one's own it would hang: delta-rs keeps the interpreter's lock while it waits for an answer."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
        """Answer everything with 503 for so long, from the next request on."""
        self.ask("PUT", f"/-/fail?{seconds}")

    def requests(self) -> dict[str, int]:
        """How many requests of each method came since this was asked last."""
        counts: dict[str, int] = json.loads(self.ask("GET", "/-/requests"))
        return counts

    def ask(self, method: str, path: str) -> bytes:
        """The body of an answer that must be fine."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (answer.status, body)
        connection.close()
        return body


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A server as long as the block, empty but for its bucket."""
    # The server is this file, and does not find the tests.
    from tests.kits.servers.nginx import free_port
    from tests.kits.waiting import until_listening

    store = ObjectStore(free_port())
    command = [sys.executable, __file__, str(store.port)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": ""})
    try:
        until_listening(store.port, process)
        store.ask("PUT", f"/{BUCKET}")
        yield store
    finally:
        process.kill()
        process.wait()


def _serve(port: int) -> None:
    import asyncio
    from collections import Counter
    from io import BytesIO
    from typing import Any

    import uvicorn
    from moto.moto_server.werkzeug_app import create_backend_app
    from uvicorn.middleware.wsgi import build_environ
    from werkzeug.test import run_wsgi_app

    # The one service that is asked for: to find out of each request which it is takes longer than the answer.
    moto = create_backend_app("s3")
    counts: Counter[str] = Counter()
    outage, back_at = [0.0], [0.0]

    def answer(scope: Any, body: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        path, method, query = scope["path"], scope["method"], scope["query_string"].decode()
        if path == "/-/fail":
            outage[0], back_at[0] = float(query), 0.0
            return 200, [], b""
        if path == "/-/requests":
            report = json.dumps(counts).encode()
            counts.clear()
            return 200, [(b"content-length", b"%d" % len(report))], report
        counts["LIST" if "list-type" in query else method] += 1
        if outage[0]:
            back_at[0], outage[0] = time.monotonic() + outage[0], 0.0
        if time.monotonic() < back_at[0]:
            return 503, [], b""
        environ = build_environ(
            scope, {"type": "http.request", "body": b"", "more_body": False}, BytesIO(body)
        )
        environ["RAW_URI"] = f"{scope['raw_path'].decode()}?{query}"
        parts, status, headers = run_wsgi_app(moto, environ)
        lines = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        return int(status[:3]), lines, b"".join(parts)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        """One request at a time, and many on a connection: werkzeug's own server opens a connection and a
        thread for each, and waits for 10 ms after it."""
        body, has_more = b"", True
        while has_more:
            part = await receive()
            body, has_more = body + part.get("body", b""), part.get("more_body", False)
        status, headers, content = answer(scope, body)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    config = uvicorn.Config(app, port=port, lifespan="off", log_level="error", access_log=False)
    asyncio.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
