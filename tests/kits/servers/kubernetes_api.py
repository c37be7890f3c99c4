"""What Dagster's launcher asks of Kubernetes, answered by the test: each job is a process of this machine."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

JOB = re.compile(r"/apis/batch/v1/namespaces/[\w-]+/jobs/([\w-]+)(?:/status)?")


class Cluster:
    """Jobs and their processes."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        #: What the processes have beside the variables of their container, which name folders of a pod.
        self.environment = environment
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.is_away = False

    def start(self, job: Mapping[str, Any]) -> None:
        """Start the process of a job, as a node does."""
        name = job["metadata"]["name"]
        [container] = job["spec"]["template"]["spec"]["containers"]
        command: list[str] = container["command"] + container["args"]
        if command[0] == "python":
            command[0] = sys.executable
        variables = {variable["name"]: variable["value"] for variable in container["env"]}
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | variables | self.environment,
            )

    def status(self, name: str) -> dict[str, int] | None:
        """What Kubernetes says of a job; None: there is none."""
        process = self.processes.get(name)
        if process is None:
            return None
        code = process.poll()
        return {"active": 1} if code is None else {"failed" if code else "succeeded": 1}

    def delete(self, name: str) -> None:
        """End a job and forget it."""
        self.processes.pop(name).terminate()


@contextmanager
def cluster(folder: Path, environment: Mapping[str, str]) -> Iterator[tuple[Cluster, str]]:
    """A cluster and the address of its API."""
    jobs = Cluster(folder, environment)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            jobs.start(job)
            self._answer(HTTPStatus.CREATED, job)

        def do_GET(self) -> None:
            if (named := JOB.fullmatch(self.path)) is None:
                self._answer(HTTPStatus.OK, {"items": []})
                return
            status = jobs.status(named[1])
            code = HTTPStatus.NOT_FOUND if status is None else HTTPStatus.OK
            self._answer(code, {"apiVersion": "batch/v1", "kind": "Job", "status": status})

        def do_DELETE(self) -> None:
            named = JOB.fullmatch(self.path)
            assert named
            jobs.delete(named[1])
            self._answer(HTTPStatus.OK, {"status": "Success"})

        def _answer(self, status: HTTPStatus, content: Any) -> None:
            if jobs.is_away:
                # As behind a load balancer whose servers are gone.
                status, content = HTTPStatus.FORBIDDEN, {}
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield jobs, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        for process in jobs.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
