"""What a command leaves when it is interrupted or killed, and two that would write at the same time."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import uvloop
from dagster._utils.interrupts import capture_interrupts

from pipelines.cli.command_session import interrupt_on_signals, session
from pipelines.lake.opening import lake_of
from pipelines.nights.failed_runs import failed_runs
from pipelines.nights.run_state import last_discovery
from pipelines.runs.instance import open_instance
from pipelines.runs.interrupted_runs import close_gone_runs, closed_run
from pipelines.runs.jobs import DISCOVERY, PUBLISH
from pipelines.runs.launchers import LAUNCHER_TAG, PROCESS_TAG
from pipelines.runs.partition_selection import SCHOOL_TAG, school_tags
from pipelines.runs.writer_locks import Busy, live_writers, writing
from pipelines.settings.settings import Settings
from tests.kits.programs.command_line import campus

PATIENCE = 120.0  # seconds, for processes on a busy machine
#: A process that writes until it is killed.
HOLDER = """
import sys, time
from pathlib import Path
from pipelines.settings.settings import Settings
from pipelines.runs.writer_locks import writing
with writing(Settings(home=Path(sys.argv[1])), "campus sync", alone=True, patience=0, notify=print) as me:
    print(me.name, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    return Settings(home=tmp_path)


@pytest.fixture
def holder(settings: Settings) -> Iterator["subprocess.Popen[str]"]:
    """Another process that writes in the home; its first line is the name of its file."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(settings.home)], stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def name_of(holder: "subprocess.Popen[str]") -> str:
    assert holder.stdout is not None
    return holder.stdout.readline().strip()


def ended(holder: "subprocess.Popen[str]") -> None:
    holder.kill()
    holder.wait(PATIENCE)


def run_of(instance: dg.DagsterInstance, tags: dict[str, str]) -> dg.DagsterRun:
    @dg.job(name=PUBLISH)
    def job() -> None: ...

    return instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags=tags)


def test_a_second_writer_is_told_who_the_first_is(
    settings: Settings, holder: "subprocess.Popen[str]"
) -> None:
    name_of(holder)
    messages: list[str] = []
    for alone in (True, False):
        refused = pytest.raises(Busy, match=rf"campus sync \(pid {holder.pid} on .*, since 20")
        with refused, writing(settings, "campus sync", alone=alone, patience=0.0, notify=messages.append):
            pass
    refused = pytest.raises(Busy)
    with refused, writing(settings, "campus sync", alone=True, patience=0.1, notify=messages.append):
        pass
    assert len(messages) == 1 and f"pid {holder.pid}" in messages[0]
    ended(holder)
    with writing(settings, "campus sync", alone=True, patience=0.0, notify=messages.append) as me:
        assert [writer.name for writer in live_writers(settings)] == [me.name]
    assert live_writers(settings) == []


def test_runs_of_the_daemon_write_side_by_side(settings: Settings) -> None:
    with (
        writing(settings, "one run", alone=False, patience=0.0, notify=print),
        writing(settings, "another", alone=False, patience=0.0, notify=print),
    ):
        assert len(live_writers(settings)) == 2
        refused = pytest.raises(Busy, match=r"one run|another")
        with refused, writing(settings, "campus sync", alone=True, patience=0.0, notify=print):
            pass


def test_the_command_line_ends_with_status_1_and_names_the_holder(
    settings: Settings, holder: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    name_of(holder)
    environment = {
        "CAMPUS_HOME": str(settings.home),
        "CAMPUS_BASE_URL": "http://127.0.0.1:9",
        "CAMPUS_CLIENT_ID": "c",
        "CAMPUS_CLIENT_SECRET": "s",
    }
    monkeypatch.setattr("pipelines.cli.command_session.PATIENCE", 0.5)
    done = campus(settings.home, "sync", **environment)
    assert done.exit_code == 1
    [line] = done.stderr.splitlines()
    assert f"{settings.home} is being written by campus sync (pid {holder.pid} on " in line
    assert re.search(
        r" is being written by .*: wait for it to finish, or stop it; then run the command", line
    )


def test_a_run_whose_process_is_gone_is_closed_and_no_other(
    settings: Settings, holder: "subprocess.Popen[str]"
) -> None:
    name = name_of(holder)
    with open_instance(settings) as instance:
        killed = run_of(instance, {PROCESS_TAG: name})
        elsewhere = run_of(instance, {})
        assert close_gone_runs(instance, settings) == []
        ended(holder)
        assert close_gone_runs(instance, settings) == [closed_run(killed)]
        statuses = {run.run_id: run.status for run in instance.get_runs()}
        assert statuses == {
            killed.run_id: dg.DagsterRunStatus.FAILURE,
            elsewhere.run_id: dg.DagsterRunStatus.STARTED,
        }


def test_a_run_that_never_started_is_closed_and_the_reason_told(
    settings: Settings, holder: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    @dg.job(name=DISCOVERY)
    def job() -> None: ...

    with open_instance(settings) as instance:
        of_a_process = instance.create_run_for_job(job, tags={PROCESS_TAG: name_of(holder)})
        cut_off = instance.create_run_for_job(job)
        assert close_gone_runs(instance, settings) == [], "it may be about to be queued"
        monkeypatch.setattr("pipelines.runs.interrupted_runs.LAUNCHED_WITHIN", timedelta(seconds=-5))
        assert close_gone_runs(instance, settings) == [
            f"Closed run {cut_off.run_id[:8]} (discovery): it never started; launch it again."
        ]
        statuses = {run.run_id: run.status for run in instance.get_runs()}
        assert statuses[cut_off.run_id] is dg.DagsterRunStatus.FAILURE
        assert statuses[of_a_process.run_id] is dg.DagsterRunStatus.NOT_STARTED
        [failed] = failed_runs(instance)
        assert failed.why.startswith("This run never started: its launch was interrupted")
        assert last_discovery(instance, DISCOVERY) is None, "no loads follow it, and no publication waits"


def test_a_launched_run_that_no_process_begins_is_closed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The UI was killed between the launch and the start of the process."""

    @dg.job(name=PUBLISH)
    def job() -> None: ...

    with open_instance(settings) as instance:
        starting = dg.DagsterRunStatus.STARTING
        launched = instance.create_run_for_job(job, status=starting)
        instance.create_run_for_job(job, status=starting, tags={PROCESS_TAG: "another-1-2026.run"})
        assert close_gone_runs(instance, settings) == [], "its process may be about to begin"
        monkeypatch.setattr(dg.DagsterInstance, "run_monitoring_start_timeout_seconds", -5)
        assert close_gone_runs(instance, settings) == [closed_run(launched)]


def test_a_command_of_another_machine_has_an_hour_to_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of its writers are not seen here, so nobody can tell whether its process is gone."""

    @dg.job(name=DISCOVERY)
    def job() -> None: ...

    monkeypatch.setattr("pipelines.runs.interrupted_runs.LAUNCHED_WITHIN", timedelta(seconds=-5))
    with open_instance(settings) as instance:
        instance.create_run_for_job(job, tags={PROCESS_TAG: "another-1-20260302T010000000000.json"})
        assert close_gone_runs(instance, settings) == []
        monkeypatch.setattr(
            "pipelines.runs.interrupted_runs.LAUNCHED_ELSEWHERE_WITHIN", timedelta(seconds=-5)
        )
        assert len(close_gone_runs(instance, settings)) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_reports_its_runs_as_cancelled(
    settings: Settings, number: signal.Signals
) -> None:
    # A shell has what it starts in the background ignore Ctrl-C, and the tests may be that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open_instance(settings) as instance:
        with pytest.raises(KeyboardInterrupt), session(settings, "campus sync") as tags:
            run = run_of(instance, dict(tags))
            assert tags[LAUNCHER_TAG].startswith("campus sync of ")
            os.kill(os.getpid(), number)
            time.sleep(PATIENCE)
        again = instance.get_run_by_id(run.run_id)
        assert again is not None and again.status is dg.DagsterRunStatus.CANCELED
        assert again.remote_job_origin is not None, "the UI's timeline shows it"
    assert live_writers(settings) == []


def test_a_run_says_which_school_it_loads(settings: Settings) -> None:
    lake = lake_of(settings)
    from loading.tables import TABLES

    lake.ensure([TABLES["schools"]])
    assert school_tags(lake, 101) == {SCHOOL_TAG: "101"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("on_ctrl_c", [signal.default_int_handler, signal.SIG_IGN])
def test_the_end_of_a_service_or_terminal_is_an_interrupt(number: signal.Signals, on_ctrl_c: Any) -> None:
    """Also where Ctrl-C is ignored, as in a shell's background."""
    before = signal.signal(signal.SIGINT, on_ctrl_c)
    # This suite may run under nohup.
    earlier = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), interrupt_on_signals():
            signal.raise_signal(number)
    finally:
        signal.signal(number, earlier)
        signal.signal(signal.SIGINT, before)


def test_a_background_process_ends_at_sigterm_after_a_run() -> None:
    """Dagster gives SIGTERM the handler of SIGINT, which a shell's background ignores."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupt_on_signals():
            with capture_interrupts():
                pass
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_who_is_not_to_hear_of_its_terminal_does_not() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupt_on_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_event_loop_ends_its_tasks_at_a_signal() -> None:
    """What a task knows at an interrupt, it may still write down, and return."""

    async def work() -> str:
        signal.raise_signal(signal.SIGTERM)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "written down"
        return "slept"

    with interrupt_on_signals():
        assert uvloop.run(work()) == "written down"
