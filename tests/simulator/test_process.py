"""The simulator as a process: it starts, says so, can be told what to do, and goes."""

import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from simulator import launch
from simulator.cli import simulator as command
from simulator.launch import SimulatorError
from simulator.process import RunningSimulator, running
from tests.kits.platforms.simulated import client
from tests.kits.waiting import PATIENCE, until

START = [sys.executable, "-m", "simulator", "--schools=1", "--students=20"]


def answers(base_url: str) -> bool:
    try:
        return httpx.get(f"{base_url}/api/v1/schools", trust_env=False).status_code == 401
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_line_when_ready_and_a_clean_end(number: signal.Signals) -> None:
    with subprocess.Popen(START, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on http://127.0.0.1:")
        base_url = line.removeprefix("listening on ").strip()
        assert answers(base_url)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")
    assert not answers(base_url)


def test_running_stops_when_the_block_ends() -> None:
    with running(schools=1, students=20) as started:
        assert answers(started.base_url)
    assert not answers(started.base_url)


def test_two_processes_tell_the_same_story(
    simulator: RunningSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # From separate fork servers: simulators of the same server have the seed of Python's hashes in common.
    monkeypatch.setattr(launch, "_fork_server", cache(launch._fork_server.__wrapped__))
    with running(schools=2, students=60) as twin, running(schools=2, students=60, seed=2) as other:
        for resource in ("reflections", "classes", "class_members", "scores", "grades"):
            rows = simulator.rows(resource, 102)
            assert twin.rows(resource, 102) == rows
            assert other.rows(resource, 102) != rows


def test_it_never_outlives_its_parent() -> None:
    script = (
        "import signal\n"
        "from simulator.process import running\n"
        "with running(schools=1, students=20) as s:\n"
        "    print(s.base_url, flush=True)\n"
        "    signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        base_url = parent.stdout.readline().strip()
        assert answers(base_url)
        parent.kill()
    until(lambda: not answers(base_url), "it ends with its parent")


def test_what_it_is_told_reaches_it() -> None:
    options = {"unpaged": "refused", "ignored": ["name_like", "sort"], "log": False, "max_per_page": 5}
    fault = {"kind": "status", "status": 418, "path": "*/teachers"}
    with running(
        schools=1,
        students=20,
        allowed_schools=[101],
        client_id="someone",
        client_secret="other-secret",
        faults=(fault,),
        **options,
    ) as started:
        assert (started.client_id, started.client_secret) == ("someone", "other-secret")
        with pytest.raises(httpx.HTTPStatusError), client(started):
            pass  # the demo's credentials do not open this one
        body = {"grant_type": "client_credentials", "client_id": "someone", "client_secret": "other-secret"}
        scope = {"scope": "school.101 student.read_all teacher.read_all"}
        answer = httpx.post(f"{started.base_url}/api/v3/oauth/tokens", json={**body, **scope})
        headers = {"authorization": f"Bearer {answer.json()['access_token']}", "x-school-id": "101"}
        with httpx.Client(base_url=f"{started.base_url}/api/v3/reflection", headers=headers) as session:
            assert session.get("/students?paginated=0").status_code == 422
            assert len(session.get("/students?name_like=nobody&per_page=50").json()) == 5
            assert session.get("/teachers").status_code == 418
        assert started.log() == []


def test_secrets_are_in_no_process_list_and_no_repr() -> None:
    with running(schools=1, students=20, client_secret="sesame-open") as started:
        assert "sesame-open" not in repr(started)
        lists = [
            path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)
        ]
        assert not any(b"sesame-open" in line for line in lists)


def test_a_bad_option_is_said_in_its_own_words() -> None:
    with pytest.raises(SimulatorError, match="--students"), running(students=-1):
        pass
    with pytest.raises(SimulatorError, match="No such option"), running(teapots=3):
        pass
    with pytest.raises(SimulatorError, match="kind"), running(faults=({"kind": "earthquake"},)):
        pass


def test_a_taken_port_is_said_in_words(simulator: RunningSimulator) -> None:
    port = simulator.base_url.rpartition(":")[2]
    with pytest.raises(SimulatorError, match=f"cannot listen on 127.0.0.1:{port}"), running(port=port):
        pass


def test_the_help_names_every_option() -> None:
    shown = CliRunner().invoke(command, ["--help"])
    assert shown.exit_code == 0
    assert "--missing-assessment [404|null|empty|list]" in shown.output
    assert "--today" in shown.output
    assert "demo-secret" not in shown.output


def test_a_process_that_none_can_be_forked_from_is_told_and_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "_fork_server", cache(launch._fork_server.__wrapped__))
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", "/bin/false")
        with pytest.raises(SimulatorError, match="does not answer"), running(schools=1, students=20):
            pass
    with running(schools=1, students=20) as started:
        assert answers(started.base_url)
