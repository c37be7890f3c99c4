"""A server that has one answer to everything, besides tokens."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = b'{"access_token": "t", "token_type": "Bearer", "expires_in": 3600}'


@contextmanager
def answering(body: bytes, *, status: int = 200, ahead: timedelta = timedelta(0)) -> Iterator[str]:
    """The address of such a server. `status`: of the answers to POST. `ahead`: of its clock."""

    class Handler(BaseHTTPRequestHandler):
        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string(time.time() + ahead.total_seconds())

        def do_GET(self) -> None:
            self._send(200, body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._send(status, TOKEN)

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
