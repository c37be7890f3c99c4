"""The jobs of files that come again and again: the marks of lessons, and swipes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import dagster as dg
import uvloop

from loading.runtime import told
from loading.writes.outcomes import counted
from pipelines.settings import Settings
from pipelines.writes.bench import Done, Work, carried_out, results_path
from pipelines.writes.desk import errand_of
from pipelines.writes.inbox import ATTENDANCE, SWIPES
from pipelines.writes.marks import write_marks
from pipelines.writes.plans import Note, forget, leave_note, prune
from pipelines.writes.runs import AGAIN_TAG, ArrivedFile, failures_told, without_their_words
from pipelines.writes.swiping import hand_over, send_swipes

SEND_SWIPES = "send_swipes"


@dataclass(frozen=True)
class FileJob:
    """A job that writes what a file says. `step`: the name of its step's definition, which may not be that of
    the job. `work`: what a file means; raises TableError."""

    job: str
    step: str
    asset: dg.AssetSpec
    work: Callable[[Settings, ArrivedFile], Work]
    description: str


def _marks(_settings: Settings, asked: ArrivedFile) -> Work:
    return partial(write_marks, file=Path(asked.file))


def _swipes(settings: Settings, asked: ArrivedFile) -> Work:
    file = Path(asked.file) if asked.file else None
    return partial(send_swipes, handover=hand_over(settings.home, file, asked.school_id, dry=False))


def _asset(kind: str, description: str) -> dg.AssetSpec:
    return dg.AssetSpec(["writes", kind], group_name="writes", description=description)


FILE_JOBS = {
    ATTENDANCE: FileJob(
        "write_attendance",
        "write_marks_of_one_file",
        _asset(ATTENDANCE, "What became of the marks of the last file."),
        _marks,
        "Write the marks of lessons of a file.",
    ),
    SWIPES: FileJob(
        SEND_SWIPES,
        "send_swipes_of_one_school",
        _asset(SWIPES, "What became of the swipes that were sent last."),
        _swipes,
        "Put the swipes of a file, if there is one, into the outbox, and send what waits there of a school.",
    ),
}


def file_job(settings: Settings, kind: str) -> dg.JobDefinition:
    """The job of the files of a kind."""
    one = FILE_JOBS[kind]

    @dg.op(name=one.step, pool="platform", required_resource_keys={"campus"})
    def step(context: dg.OpExecutionContext, config: ArrivedFile) -> None:
        prune(settings.home, settings.options.writes.keep_plans)
        runtime, results = told(context.resources.campus, context.log), results_path(settings, kind)
        name = Path(config.file).name
        try:
            with failures_told(context):
                errand = errand_of(context.run.tags, config.file or "the outbox")
                work = one.work(settings, config)
                done = uvloop.run(
                    carried_out(settings, runtime, errand, config.school_id, work, results=results)
                )
        except dg.Failure as failure:
            if config.file:
                problem = without_their_words(failure)
                leave_note(settings.home, Note(kind, config.school_id, name, problem=problem))
            raise
        refused = counted(done.outcomes)["refused"]
        if refused:
            leave_note(settings.home, Note(kind, config.school_id, name, str(results), refused=refused))
        elif config.file:
            forget(settings.home, kind, config.school_id)
        _show(context, one, config.school_id, done, results)

    @dg.job(name=one.job, executor_def=dg.in_process_executor, description=one.description)
    def job() -> None:
        step.alias(one.job)()

    return job


def _show(context: dg.OpExecutionContext, one: FileJob, school_id: int, done: Done, results: Path) -> None:
    """Tell the counts. Raises dg.Failure where the file was not written to its end: where rows wait, or may
    have been written, the run is marked, so that the file is tried again."""
    counts = counted(done.outcomes)
    for line in done.notes:
        context.log.info(line)
    for line in done.warnings:
        context.log.warning(line)
    failed = [loaded for loaded in done.loaded if loaded.status == "failed"]
    for loaded in failed:
        context.log.warning(f"{loaded.spec.name} {loaded.slice} could not be read again: {loaded.message}")
    context.log_event(
        dg.AssetMaterialization(
            one.asset.key,
            description=f"School {school_id}: what became of each row",
            metadata={"school": school_id, **counts, "result of each row": dg.MetadataValue.path(results)},
        )
    )
    told_counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
    if counts["waiting"] or counts["unconfirmed"]:
        context.instance.add_run_tags(context.run_id, {AGAIN_TAG: "true"})
    if done.problem or counts["waiting"] or counts["unconfirmed"]:
        raise dg.Failure(f"{told_counts}. {done.problem}".strip(), allow_retries=False)
    context.log.info(f"{told_counts or 'nothing to do'}.")
