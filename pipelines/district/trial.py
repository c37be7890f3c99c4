"""A district on one machine, for trial: its programs, started together and stopped together."""

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
from pipelines.due import SCHOOL_TAG
from pipelines.interrupted import INTERRUPTED, UNFINISHED
from pipelines.program import Program, stop

#: Seconds between two looks, and for which a program may take its time to end.
LOOK, POLITE = 2.0, 15.0
FOLDER = "district"
Tell = Callable[[str], None]
WORDS = {
    dg.DagsterRunStatus.NOT_STARTED: "is asked for",
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
    """The programs of a district on this machine. `port`: of the UI; None: without it."""

    home: Path
    workers: int
    port: int | None
    instance: dg.DagsterInstance
    beats: Heartbeats
    tell: Tell
    programs: list[Program] = field(default_factory=list)
    seen: dict[str, dg.DagsterRunStatus] = field(default_factory=dict)
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def names(self) -> list[str]:
        """The names of its workers."""
        return [f"worker{number + 1}" for number in range(self.workers)]

    def start(self) -> None:
        """Start all, and say what each is for."""
        folder = self.home / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        wanted = [("the daemon, which starts nights and fills the queue", programs.daemon(), "daemon")]
        wanted += [(f"{name}, which takes runs", programs.worker(name), name) for name in self.names]
        if self.port is not None:
            address = f"the UI, on http://127.0.0.1:{self.port}"
            wanted.append((address, programs.webserver("127.0.0.1", self.port, allow_launch=True), "ui"))
        for what, command, name in wanted:
            program = Program(what, command, folder / f"{name}.log")
            program.start()
            self.programs.append(program)
            self.tell(f"Started {what}; it writes to {program.log}")

    def look(self) -> None:
        """Say what has happened since the last look, and start again what has ended."""
        for program in self.programs:
            if (status := program.status) is not None:
                self.tell(f"Ended with {status}: {program.what}. Started again; see {program.log}")
                program.start()
        try:
            at = self.beats.all()
            records = self.instance.get_run_records(
                dg.RunsFilter(updated_after=self.begun), limit=500, order_by="update_timestamp"
            )
        except NO_ANSWER:
            self.tell("Postgres does not answer; runs wait for it.")
            return
        for record in reversed(records):
            run = record.dagster_run
            if self.seen.get(run.run_id) != run.status:
                self.seen[run.run_id] = run.status
                begun = run.status == dg.DagsterRunStatus.STARTED and run.run_id in at
                by = f" on {at[run.run_id].worker}" if begun else ""
                of = f" of {run.tags[SCHOOL_TAG]}" if SCHOOL_TAG in run.tags else ""
                self.tell(f"{run.job_name}{of} ({run.run_id[:8]}) {WORDS.get(run.status, run.status)}{by}")

    def stop(self) -> None:
        """End all. Runs that a worker is at are reported as cancelled; those that wait go on waiting."""
        self.tell("Stopping. What runs have committed is kept.")
        for program in self.programs:
            # A worker would wait for its run's end.
            if program.log.stem in self.names:
                program.send(signal.SIGKILL)
        stop(self.programs, POLITE)
        ours = {f"{name}@{socket.gethostname()}" for name in self.names}
        for run_id, beat in self.beats.all().items():
            run = self.instance.get_run_by_id(run_id)
            if beat.worker in ours and run is not None and not run.is_finished:
                self.instance.report_run_canceled(run, message=INTERRUPTED)
                self.beats.forget(run_id)
        waiting = self.instance.get_runs_count(dg.RunsFilter(statuses=UNFINISHED))
        if waiting:
            self.tell(f"{waiting} runs wait: the next `campus district up` goes on with them.")


@contextmanager
def trial(
    home: Path, workers: int, port: int | None, instance: dg.DagsterInstance, url: str, tell: Tell
) -> Iterator[Trial]:
    """A district while this lasts; `look` is to be called now and then. url: of Postgres."""
    one = Trial(home, workers, port, instance, Heartbeats(url), tell)
    try:
        one.start()
        yield one
    finally:
        one.stop()
