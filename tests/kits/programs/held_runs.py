"""Runs of the job that waits for its test, launched in processes that the test may kill."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import dagster as dg

from assets.shared.dagster_private import WorkerStatus
from tests.kits.programs.held_job import held_job
from tests.kits.waiting import until

#: Ends the connections whose statements wait for a lock.
CUT_OFF = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT%'
"""


@dataclass
class HeldRuns:
    """The hand in what runs of an instance do."""

    folder: Path
    instance: dg.DagsterInstance

    def launch(self, **tags: str) -> str:
        """Launch a run, as the daemon does with what waits in its queue."""
        run = self.instance.create_run_for_job(
            held_job,
            run_config={"ops": {"held": {"config": {"folder": str(self.folder)}}}},
            tags=tags,
            job_code_origin=dg.reconstructable(held_job).get_python_origin(),
            status=dg.DagsterRunStatus.STARTING,
        )
        self.instance.run_launcher.launch_run(SimpleNamespace(dagster_run=run))
        return run.run_id

    def begun(self, run_id: str) -> list[int]:
        """The processes that have begun the run."""
        file = self.folder / f"{run_id}.begun"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def run(self, run_id: str) -> dg.DagsterRun:
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run

    def health(self, run_id: str) -> WorkerStatus:
        return self.instance.run_launcher.check_run_worker_health(self.run(run_id)).status

    def wait(self, condition: Callable[[], object], event: str) -> None:
        until(condition, event, self._logs)

    def _logs(self) -> str:
        return "".join(file.read_text()[-3000:] for file in self.folder.glob("*.log"))
