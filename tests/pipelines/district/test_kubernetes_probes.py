"""The probes of a district on Kubernetes, each with its program: alive, hung, and dead."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines.district.kubernetes.pods import DAEMON, PORT, WEBSERVER
from tests.kits.programs.rendered_district import named, rendered
from tests.kits.waiting import until

#: Seconds after which a silent daemon counts as dead here; without the variable it is half an hour.
TOLERANCE = 40

pytestmark = pytest.mark.slow


def container_of(printed: str, role: str) -> dict[str, Any]:
    [container] = named(printed, "Deployment", role)["spec"]["template"]["spec"]["containers"]
    return dict(container)


def is_healthy(command: list[str], seconds: int) -> bool:
    """Whether a probe's command succeeds within its time, as the kubelet judges."""
    try:
        return subprocess.run(command, timeout=seconds, capture_output=True).returncode == 0
    except subprocess.TimeoutExpired:
        return False


@contextmanager
def running(command: list[str]) -> Iterator[int]:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    manifests = rendered(tmp_path, monkeypatch, "")
    monkeypatch.delenv("DAGSTER_POSTGRES_URL")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    (tmp_path / "dagster").mkdir()
    # As in the image, where the programs of the project are in the path.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return manifests


def wait(command: list[str], seconds: int, healthy: bool) -> None:
    """Wait until a probe says so."""
    until(lambda: is_healthy(command, seconds) == healthy, f"healthy: {healthy}")


def test_the_webservers_probe_sees_it_hang_and_die(printed: str) -> None:
    container = container_of(printed, WEBSERVER)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    probe = container["livenessProbe"]
    assert all(container[name]["exec"] == probe["exec"] for name in ("startupProbe", "readinessProbe")), (
        "they differ in their patience alone"
    )
    check = [part.replace(str(PORT), str(port)) for part in probe["exec"]["command"]]
    seconds = probe["timeoutSeconds"]
    assert not is_healthy(check, seconds)
    with running([part.replace(str(PORT), str(port)) for part in container["command"]]) as process:
        wait(check, seconds, True)
        os.kill(process, signal.SIGSTOP)
        assert not is_healthy(check, seconds)
        os.kill(process, signal.SIGCONT)
        wait(check, seconds, True)
    assert not is_healthy(check, seconds)


def test_the_daemons_probe_sees_it_hang(printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    container = container_of(printed, DAEMON)
    [variable] = [
        entry for entry in container["env"] if entry["name"] == "DAGSTER_DAEMON_HEARTBEAT_TOLERANCE"
    ]
    monkeypatch.setenv(variable["name"], str(TOLERANCE))
    probe = container["livenessProbe"]
    check, seconds = probe["exec"]["command"], probe["timeoutSeconds"]
    assert container["startupProbe"]["exec"] == probe["exec"]
    assert not is_healthy(check, seconds)
    with running(container["command"]) as process:
        wait(check, seconds, True)
        os.kill(process, signal.SIGSTOP)
        wait(check, seconds, False)
