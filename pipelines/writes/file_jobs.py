"""The jobs for recurring files: marks of lessons, and swipes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import dagster as dg
import uvloop

from assets.shared.load_kind import platform_runtime
from campus.files.table_file import FileContent
from pipelines.notices.notice import PLATFORM_QUOTE
from pipelines.settings.settings import Settings, needs_school
from pipelines.writes.context import Done, Work, carry_out, results_path, unread
from pipelines.writes.marks import write_marks
from pipelines.writes.runs import (
    ArrivedFile,
    failures_as_dagster,
    file_of_run,
    mark_final,
    move_away,
    public_text,
)
from pipelines.writes.session import provenance_of
from pipelines.writes.swipes import queue_swipes, send_swipes
from writeback.kinds import ATTENDANCE, SWIPES
from writeback.notes import delete_old, leave_note, remove_note
from writeback.outcomes import counted, in_words
from writeback.store.notes import Note

SEND_SWIPES = "send_swipes"


@dataclass(frozen=True)
class FileJob:
    """A job that writes the content of a file."""

    job: str
    #: The name of the step's definition, which must differ from the job's name.
    step: str
    asset: dg.AssetSpec
    #: The work for a file; raises TableError.
    work: Callable[[Settings, int, FileContent | None], Work]
    description: str


def _marks(_settings: Settings, _school_id: int, file: FileContent | None) -> Work:
    assert file is not None
    return partial(write_marks, file=file)


def _swipes(settings: Settings, school_id: int, file: FileContent | None) -> Work:
    return partial(send_swipes, swipe_file=queue_swipes(settings.home, file, school_id, dry=False))


def _asset(kind: str, description: str) -> dg.AssetSpec:
    return dg.AssetSpec(["writes", kind], group_name="writes", description=description)


FILE_JOBS = {
    ATTENDANCE: FileJob(
        "write_attendance",
        "write_marks_of_one_file",
        _asset(ATTENDANCE, "The outcomes of the marks in the last file."),
        _marks,
        "Write the marks of lessons in a file.",
    ),
    SWIPES: FileJob(
        SEND_SWIPES,
        "send_swipes_of_one_school",
        _asset(SWIPES, "The outcomes of the swipes that were sent last."),
        _swipes,
        "Put the swipes of a file, if any, into the outbox, and send the school's waiting swipes.",
    ),
}


def file_job(settings: Settings, kind: str) -> dg.JobDefinition:
    """The job of the files of a kind."""
    definition = FILE_JOBS[kind]

    @dg.op(name=definition.step, pool="platform", required_resource_keys={"campus"})
    def step(context: dg.OpExecutionContext, config: ArrivedFile) -> None:
        delete_old(settings.home, settings.options.writes.keep_plans)
        results = results_path(settings, f"{kind}-{config.school_id}-{context.run_id[:8]}")
        try:
            with failures_as_dagster(context):
                needs_school(settings, config.school_id)
                # Swipes in the outbox are sent without a file.
                outbox_only = kind == SWIPES and not config.file
                arrived = None if outbox_only else file_of_run(context, settings, kind, config)
                if arrived is None and not outbox_only:
                    return
                done = _carry_out(context, settings, kind, config, arrived and arrived[0], results)
        except dg.Failure as failure:
            _note(settings, kind, config, results, problem=public_text(failure))
            raise
        _show(context, definition, config.school_id, done, results)
        refused, problem = counted(done.outcomes)["refused"], _problem(done)
        # `campus status` reports waiting swipes by itself.
        public_problem = "" if kind == SWIPES else problem.partition(PLATFORM_QUOTE)[0]
        _note(settings, kind, config, results, problem=public_problem, refused=refused)
        if arrived is not None and (kind == SWIPES or not problem):
            # Swipes are in the outbox, so their file is not needed even after a failure.
            move_away(context, settings, kind, arrived[1])
        if problem:
            raise dg.Failure(problem, allow_retries=False)

    @dg.job(name=definition.job, description=definition.description)
    def job() -> None:
        step.alias(definition.job)()

    return job


def _carry_out(
    context: dg.OpExecutionContext,
    settings: Settings,
    kind: str,
    config: ArrivedFile,
    file: FileContent | None,
    results: Path,
) -> Done:
    runtime = platform_runtime(context)
    source = str(file.path) if file else "the outbox"
    work = FILE_JOBS[kind].work(settings, config.school_id, file)
    if kind == SWIPES:
        # The swipes are in the outbox now, which sends them.
        mark_final(context)
    provenance = provenance_of(context, source)
    return uvloop.run(carry_out(settings, runtime, provenance, config.school_id, work, results=results))


def _note(
    settings: Settings,
    kind: str,
    config: ArrivedFile,
    results: Path,
    *,
    problem: str = "",
    refused: int = 0,
) -> None:
    """Leave a note if a file needs a person. Waiting swipes have reports of their own."""
    note = Note(kind, config.school_id, config.file, str(results), "", refused, problem)
    if refused or (problem and config.file):
        leave_note(settings.home, note)
    else:
        remove_note(settings.home, note)


def _show(
    context: dg.OpExecutionContext, definition: FileJob, school_id: int, done: Done, results: Path
) -> None:
    """Log the notes and warnings, and the counts as a materialization."""
    counts = counted(done.outcomes)
    for line in done.notes:
        context.log.info(line)
    for line in (*done.warnings, *unread(done.loaded)):
        context.log.warning(line)
    context.log_event(
        dg.AssetMaterialization(
            definition.asset.key,
            description=f"School {school_id}: the outcomes of the rows",
            metadata={"school": school_id, **counts, "result of each row": dg.MetadataValue.path(results)},
        )
    )


def _problem(done: Done) -> str:
    """Why a file was not written completely, with the counts; empty: all rows have a final outcome."""
    counts = counted(done.outcomes)
    if not (done.problem or counts["waiting"] or counts["unconfirmed"]):
        return ""
    return f"{in_words(counts)}. {done.problem}".strip()
