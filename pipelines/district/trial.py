"""A trial district on one machine: starts and stops all its programs together."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from pipelines.district import programs
from pipelines.district.heartbeats import NO_ANSWER, Heartbeats
from pipelines.runs.child_program import Program, stop
from pipelines.runs.interrupted_runs import INTERRUPTED, UNFINISHED
from pipelines.runs.partition_selection import SCHOOL_TAG

#: Seconds between two checks, and seconds that a program has to stop.
CHECK_SECONDS, STOP_SECONDS = 2.0, 15.0
FOLDER = "district"
Notify = Callable[[str], None]
STATUS_TEXTS = {
    dg.DagsterRunStatus.NOT_STARTED: "is requested",
    dg.DagsterRunStatus.QUEUED: "waits for its turn",
    dg.DagsterRunStatus.STARTING: "waits for a worker",
    dg.DagsterRunStatus.STARTED: "has begun",
    dg.DagsterRunStatus.SUCCESS: "has ended well",
    dg.DagsterRunStatus.FAILURE: "has failed",
    dg.DagsterRunStatus.CANCELING: "is being cancelled",
    dg.DagsterRunStatus.CANCELED: "was cancelled",
}


@dataclass
class Trial:
    """The programs of a district on this machine."""

    home: Path
    workers: int
    #: The port of the UI; None: without UI.
    port: int | None
    instance: dg.DagsterInstance
    beats: Heartbeats
    notify: Notify
    programs: list[Program] = field(default_factory=list)
    #: The reported status of each run.
    seen: dict[str, dg.DagsterRunStatus] = field(default_factory=dict)
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def names(self) -> list[str]:
        """The names of the workers."""
        return [f"worker{number + 1}" for number in range(self.workers)]

    def start(self) -> None:
        """Start all programs, and report the purpose and the log of each."""
        folder = self.home / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        commands = [("the daemon, which starts nights and queues runs", programs.daemon(), "daemon")]
        commands += [(f"{name}, which executes runs", programs.worker(name), name) for name in self.names]
        if self.port is not None:
            address = f"the UI, on http://127.0.0.1:{self.port}"
            commands.append((address, programs.webserver("127.0.0.1", self.port, allow_launch=True), "ui"))
        for what, command, name in commands:
            program = Program(what, command, folder / f"{name}.log")
            program.start()
            self.programs.append(program)
            self.notify(f"Started {what}; its log: {program.log}")

    def look(self) -> None:
        """Report changes since the last look, and restart ended programs."""
        for program in self.programs:
            if (status := program.status) is not None:
                self.notify(f"Ended with {status}: {program.what}. Started again; see {program.log}")
                program.start()
        try:
            beats = self.beats.all()
            records = self.instance.get_run_records(
                dg.RunsFilter(updated_after=self.begun), limit=500, order_by="update_timestamp"
            )
        except NO_ANSWER:
            self.notify("Postgres does not answer; runs wait for it.")
            return
        for record in reversed(records):
            run = record.dagster_run
            if self.seen.get(run.run_id) != run.status:
                self.seen[run.run_id] = run.status
                has_begun = run.status == dg.DagsterRunStatus.STARTED and run.run_id in beats
                worker = f" on {beats[run.run_id].worker}" if has_begun else ""
                school = f" of {run.tags[SCHOOL_TAG]}" if SCHOOL_TAG in run.tags else ""
                status_text = STATUS_TEXTS.get(run.status, run.status)
                self.notify(f"{run.job_name}{school} ({run.run_id[:8]}) {status_text}{worker}")

    def stop(self) -> None:
        """Stop all programs. Active runs are reported as cancelled; queued runs stay queued."""
        self.notify("Stopping. What runs have committed is kept.")
        for program in self.programs:
            # A worker would wait for the end of its run.
            if program.log.stem in self.names:
                program.send(signal.SIGKILL)
        stop(self.programs, STOP_SECONDS)
        workers = {f"{name}@{socket.gethostname()}" for name in self.names}
        for run_id, beat in self.beats.all().items():
            run = self.instance.get_run_by_id(run_id)
            if beat.worker in workers and run is not None and not run.is_finished:
                self.instance.report_run_canceled(run, message=INTERRUPTED)
                self.beats.forget(run_id)
        waiting = self.instance.get_runs_count(dg.RunsFilter(statuses=UNFINISHED))
        if waiting:
            self.notify(f"{waiting} runs wait: the next `campus district up` goes on with them.")


@contextmanager
def trial(
    home: Path, workers: int, port: int | None, instance: dg.DagsterInstance, url: str, notify: Notify
) -> Iterator[Trial]:
    """Run a district within the block, which calls `look` now and then. `url`: of Postgres."""
    district = Trial(home, workers, port, instance, Heartbeats(url), notify)
    try:
        district.start()
        yield district
    finally:
        district.stop()
