"""The webserver and a Postgres that was away for a moment."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.settings.environment import POSTGRES_URL
from tests.kits.servers.postgres import postgres

#: What a launch does in the webserver, with the connections from before Postgres was started anew.
LAUNCH = """
import sys
import dagster as dg
from pipelines.runs.instance import open_instance
from pipelines.settings.settings import load_settings
from pipelines.ui.webserver import POOL_OVERFLOW, POOL_RECYCLE, STATEMENT_TIMEOUT, check_connections

@dg.job
def discovery(): ...

with open_instance(load_settings()) as instance:
    check_connections()
    instance.optimize_for_webserver(STATEMENT_TIMEOUT, POOL_RECYCLE, POOL_OVERFLOW)
    instance.get_runs(), instance.all_asset_keys()
    print("connected", flush=True)
    sys.stdin.readline()
    run = instance.create_run_for_job(discovery)
    instance.report_engine_event("queued", run)
    print(instance.get_run_by_id(run.run_id).status, flush=True)
"""


@pytest.mark.slow
def test_a_launch_after_a_restart_of_postgres_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAMPUS_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    with postgres() as server:
        monkeypatch.setenv(POSTGRES_URL, server.url)
        with subprocess.Popen(
            [sys.executable, "-c", LAUNCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin and process.stdout
            assert process.stdout.readline().strip() == "connected"
            server.stop()
            server.start()
            said, _ = process.communicate("go\n", timeout=60)
        assert process.returncode == 0 and "NOT_STARTED" in said
