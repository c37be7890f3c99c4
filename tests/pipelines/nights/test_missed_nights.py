"""A night that did not bring what was due: runs that failed, and slices that nobody tried."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy.exc import OperationalError

from assets.loads import BASE_DATA
from assets.shared.partitions import ATTENDANCE_WEEKS, PARTITIONS
from loading.connection.runtime import SYNC_ID_TAG
from pipelines.nights import failed_runs as module
from pipelines.nights.failed_runs import failed_runs
from pipelines.nights.overdue import Overdue, look_for_overdue
from pipelines.nights.run_state import ALL_REQUESTED_TAG
from pipelines.notices.notice import due_notice
from pipelines.runs.instance import open_instance
from pipelines.runs.jobs import DELIVER, DISCOVERY, EXPORTS, MORNING, PUBLISH, PUSHES, SCHOOL_NIGHT, SITE_JOB
from pipelines.runs.launchers import LAUNCHER_TAG, PROCESS_TAG
from pipelines.runs.partition_selection import SCHOOLS_TAG, SELECTED_TAG
from pipelines.settings.settings import Settings
from pipelines.status import report
from pipelines.status.report import status_of
from tests.kits.programs.failed_slices import slices_failed
from tests.kits.truth.attendance_truth import RECORDS
from tests.kits.worlds.clock import clock_at
from tests.kits.worlds.night_ticks import carry_out, tick
from tests.kits.worlds.world import World
from warehouse.load.logs.writer import standing_rows


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    with open_instance(Settings(home=tmp_path)) as opened:
        yield opened


def ran(
    instance: dg.DagsterInstance,
    job: str,
    tags: dict[str, str] | None = None,
    error: Exception | None = None,
    status: dg.DagsterRunStatus | None = None,
) -> dg.DagsterRun:
    """A run of a job of this name that ends well, or with the error; `status`: as which it stays instead."""

    @dg.op(name="base_data")
    def step() -> None:
        if error:
            raise error

    @dg.job(name=job, executor_def=dg.in_process_executor)
    def made() -> None:
        step()

    if status:
        return instance.create_run_for_job(made, tags=tags, status=status)
    return made.execute_in_process(instance=instance, tags=tags, raise_on_error=False).dagster_run


def test_a_run_that_failed_is_told_until_the_same_work_is_done(instance: dg.DagsterInstance) -> None:
    of_101, of_102 = {SCHOOLS_TAG: "101"}, {SCHOOLS_TAG: "102"}
    ran(instance, SCHOOL_NIGHT, of_101, OSError(28, "No space left on device"))
    [failed] = failed_runs(instance)
    assert (failed.job, failed.schools) == (SCHOOL_NIGHT, (101,))
    assert failed.why == "base_data: the disk was full"
    ran(instance, SCHOOL_NIGHT, of_102)
    ran(instance, SCHOOL_NIGHT, of_101 | {SELECTED_TAG: "key:x"})
    assert len(failed_runs(instance)) == 1, "another school, and a part of the same one"
    ran(instance, SCHOOL_NIGHT, of_101)
    assert failed_runs(instance) == []


def test_a_run_that_is_being_tried_again_is_not_told(instance: dg.DagsterInstance) -> None:
    ran(instance, PUBLISH, error=ValueError("a row"))
    assert [run.why for run in failed_runs(instance)] == ["base_data: an unexpected error (ValueError)"]
    ran(instance, PUBLISH, status=dg.DagsterRunStatus.STARTED)
    assert failed_runs(instance) == []


def test_partitions_that_a_person_chose_are_made_up_for_by_a_night(instance: dg.DagsterInstance) -> None:
    ran(instance, BASE_DATA, {"dagster/partition": "101:20"}, dg.Failure("it was down"))
    assert [run.why for run in failed_runs(instance)] == ["base_data: it was down"]
    ran(instance, SCHOOL_NIGHT, {SCHOOLS_TAG: "101,102"})
    assert failed_runs(instance) == []


def test_slices_that_the_load_log_has_are_not_told_twice(instance: dg.DagsterInstance) -> None:
    slices_failed(instance, SCHOOL_NIGHT, {SCHOOLS_TAG: "101"}, "status 403")
    assert failed_runs(instance) == []
    problems = ["no token for 102", "more"]
    slices_failed(instance, SCHOOL_NIGHT, {SCHOOLS_TAG: "102"}, "status 403", problems)
    [failed] = failed_runs(instance, ["no token for 102"])
    assert failed.why == "base_data: more"
    slices_failed(instance, SCHOOL_NIGHT, {SCHOOLS_TAG: "104"}, "No space left on device")
    assert failed_runs(instance)[0].why == "base_data: the disk was full"


def test_the_words_of_the_platform_are_left_out(instance: dg.DagsterInstance) -> None:
    ran(instance, DISCOVERY, error=dg.Failure("status 500, the platform says: 张三 is missing"))
    [failed] = failed_runs(instance)
    assert failed.why == "base_data: status 500"


def test_an_old_failure_is_left_to_the_next_night(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(instance, DISCOVERY, error=dg.Failure("it was down"))
    monkeypatch.setattr(module, "STALE", timedelta(0))
    assert failed_runs(instance) == []


@pytest.mark.parametrize("job", [EXPORTS, SITE_JOB, DELIVER, PUSHES, MORNING])
def test_a_job_that_no_night_makes_up_for_is_told_until_it_succeeds(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    monkeypatch.setattr(module, "STALE", timedelta(0))
    ran(instance, job, error=dg.Failure("the folder is not there"))
    ran(instance, job, error=dg.Failure("the folder is still not there"))
    ran(instance, job, status=dg.DagsterRunStatus.CANCELED)
    assert [run.why for run in failed_runs(instance)] == ["base_data: the folder is still not there"]
    under_way = ran(instance, job, status=dg.DagsterRunStatus.STARTED)
    assert failed_runs(instance) == [], "it is being done again"
    instance.delete_run(under_way.run_id)
    ran(instance, job)
    assert failed_runs(instance) == []
    ran(instance, job, error=dg.Failure("it is gone again"))
    monkeypatch.setattr(module, "LOOKBACK", timedelta(0))
    assert failed_runs(instance) == [], "nobody has asked for it for so long"


def test_a_later_good_run_of_the_same_assets_overtakes(instance: dg.DagsterInstance) -> None:
    """A person materialized two exports with another asset, and the job of the exports succeeds later."""
    is_wrong = True

    def asset_of(*path: str) -> dg.AssetsDefinition:
        @dg.asset(key=dg.AssetKey(path))
        def export() -> None:
            if is_wrong:
                raise dg.Failure("the folder is not there")

        return export

    board, grades = asset_of("exports", "board"), asset_of("exports", "grades")
    definitions = dg.Definitions([board, grades], jobs=[dg.define_asset_job(EXPORTS, [grades])])
    chosen, exports = (
        definitions.resolve_implicit_global_asset_job_def(),
        definitions.resolve_job_def(EXPORTS),
    )

    def run(job: dg.JobDefinition, *keys: dg.AssetKey) -> None:
        job.execute_in_process(instance=instance, asset_selection=keys or None, raise_on_error=False)

    run(chosen)
    assert len(failed_runs(instance)) == 1
    is_wrong = False
    run(exports)
    assert len(failed_runs(instance)) == 1, "the board is still lacking"
    run(chosen, board.key)
    assert failed_runs(instance) == []
    is_wrong = True
    run(exports)
    assert [failed.job for failed in failed_runs(instance)] == [EXPORTS]
    is_wrong = False
    run(chosen, grades.key)
    assert failed_runs(instance) == [], "a person has materialized what the job could not"


@pytest.fixture(scope="module")
def loaded(make_world: Callable[..., World]) -> World:
    """Two schools of which everything is loaded by a command."""
    world = make_world("district")
    world.settings = world.settings.model_copy(update={"reports": ("student_summary",)})
    assert world.load(select=None).problems == []
    return world


def test_a_chosen_partition_without_rows_is_materialized(loaded: World) -> None:
    """A backfill of the UI takes it for failed otherwise. No school has a file of talks, and no lessons are
    held in the last weeks."""
    _, definitions = loaded.opened_as_is()
    job = definitions.resolve_implicit_global_asset_job_def()
    weeks = loaded.instance.get_dynamic_partitions(ATTENDANCE_WEEKS.name or "")
    for name, key in (("interventions", loaded.partitions[0]), ("attendance_records", weeks[-1])):
        asset = dg.AssetKey(["raw", name])
        result = job.execute_in_process(instance=loaded.instance, asset_selection=[asset], partition_key=key)
        [event] = result.get_asset_materialization_events()
        assert (result.success, event.asset_key, event.partition) == (True, asset, key)


def looked_at(world: World) -> Overdue:
    return look_for_overdue(world.settings, world.lake, world.instance, standing_rows(world.lake))


def left_out(world: World) -> dict[int, set[str]]:
    """The tables of each school of which the last night has left out slices."""
    left_out = looked_at(world).left_out
    return {school: {table for table, _ in places} for school, (_, places) in left_out.items()}


def night(world: World, **tags: str) -> dg.DagsterRun:
    """A discovery of the daemon after which all loads have been asked for."""
    run = world.discover().dagster_run
    world.instance.add_run_tags(run.run_id, {ALL_REQUESTED_TAG: run.run_id, **tags})
    return run


def test_slices_that_a_night_has_not_tried_are_due(loaded: World) -> None:
    assert left_out(loaded) == {}, "all of it came"
    run = loaded.discover().dagster_run
    assert left_out(loaded) == {}, "the loads are still being asked for"
    result = tick(loaded.settings, loaded.instance)
    loaded.instance.add_run_tags(run.run_id, {ALL_REQUESTED_TAG: run.run_id})
    lacking = left_out(loaded)
    some = {"students", "scores", "v1_users", "attendance_records", "datasets.course_scores"}
    assert lacking.keys() == {101, 102} and all(some <= tables for tables in lacking.values())
    assert all("reports.student_summary__501" in tables for tables in lacking.values())
    first, second = result.requests
    assert carry_out(loaded, first).success
    assert left_out(loaded) == {102: lacking[102]}
    places = looked_at(loaded).left_out[102][1]
    older, current = (key for key in loaded.partitions if key.startswith("102:"))
    assert ("scores", current) in places and ("scores", older) not in places, "an older semester rests"
    under_way = loaded.instance.create_run_for_job(
        dg.GraphDefinition(name=SCHOOL_NIGHT).to_job(), tags=second.tags, status=dg.DagsterRunStatus.STARTED
    )
    assert left_out(loaded) == {}, "the night goes on"
    assert looked_at(loaded).not_ended == {101, 102}
    loaded.instance.report_run_failed(under_way)
    assert carry_out(loaded, second).success
    assert left_out(loaded) == {}


FOREIGN_KEYS = (
    *("grade 7", "101:this semester", "101:20:w05:x", "999:20", "\uff11\uff10\uff11:20"),
    *("9" * 30 + ":20", "101:" + "9" * 30),
)


def test_foreign_partition_keys_break_nothing(loaded: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person adds the keys in the UI and launches them, which fails."""
    before = left_out(loaded)
    kinds = [kind.name or "" for kind in PARTITIONS]
    for kind in kinds:
        loaded.instance.add_dynamic_partitions(kind, list(FOREIGN_KEYS))
    job = loaded.opened_as_is()[1].resolve_implicit_global_asset_job_def()
    students = [dg.AssetKey(["raw", "students"])]
    runs = [
        job.execute_in_process(
            instance=loaded.instance, asset_selection=students, partition_key=key, raise_on_error=False
        )
        for key in FOREIGN_KEYS
    ]
    assert not any(run.success for run in runs)
    assert left_out(loaded) == before
    monkeypatch.setattr("pipelines.runs.instance.open_instance", lambda _: nullcontext(loaded.instance))
    monkeypatch.setattr("pipelines.status.report._folder_of_runs", lambda _: None)
    assert any("failed, last at" in line for line in status_of(loaded.settings).to_do)
    assert loaded.load(select=None).problems == []
    assert not any({*FOREIGN_KEYS} & {*loaded.instance.get_dynamic_partitions(kind)} for kind in kinds)
    for run in runs:
        loaded.instance.delete_run(run.run_id)


def test_a_night_of_some_schools_or_assets_lacks_no_others(loaded: World) -> None:
    night(loaded, **{SELECTED_TAG: "key:x"})
    assert left_out(loaded) == {}
    night(loaded, **{SCHOOLS_TAG: "101"})
    assert left_out(loaded).keys() == {101}
    assert loaded.load(select=None, school_ids=(101,)).problems == []
    assert left_out(loaded) == {}


def test_a_killed_sync_asks_for_no_daemon(loaded: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home is of a crontab: nothing else closes the run of the killed process."""
    killed = {
        LAUNCHER_TAG: "campus sync of root on this machine",
        PROCESS_TAG: f"{socket.gethostname()}-1-20260101T000000000000.json",
    }
    run = night(loaded, **killed)
    tags = killed | {SYNC_ID_TAG: run.tags[SYNC_ID_TAG], SCHOOLS_TAG: "101"}
    job = dg.GraphDefinition(name=SCHOOL_NIGHT).to_job()
    under_way = loaded.instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.STARTED)
    assert looked_at(loaded).not_ended == set() and left_out(loaded).keys() == {101, 102}
    monkeypatch.setattr("pipelines.runs.instance.open_instance", lambda _: nullcontext(loaded.instance))
    monkeypatch.setattr("pipelines.status.report._folder_of_runs", lambda _: None)
    [line] = [line for line in status_of(loaded.settings).to_do if "did not load" in line]
    ended_early = r"The campus sync of [-\d]+ [:\d]+ ended early, and did not load: 2 schools \(101, 102\): "
    assert re.match(ended_early, line)
    assert line.endswith(". Rows of earlier loads stay. Run campus sync again.") and "daemon" not in line
    loaded.instance.report_run_failed(under_way)


def test_a_first_load_has_no_earlier_rows(loaded: World) -> None:
    night(loaded)
    due = looked_at(loaded)
    [line] = report._left_out_lines(due, set(), [])
    assert "Rows of earlier loads stay" not in line
    [line] = report._left_out_lines(due, set(), standing_rows(loaded.lake))
    assert "Rows of earlier loads stay." in line and "the daemon and its workers run" in line


def test_a_night_is_found_behind_syncs_of_many_other_schools(
    loaded: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.nights.overdue.PAGE", 7)
    night(loaded)
    for other in range(900, 945):
        ran(loaded.instance, DISCOVERY, {SCHOOLS_TAG: str(other)})
    assert left_out(loaded).keys() == {101, 102}


def test_without_a_recent_night_what_was_due_is_not_known(
    loaded: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.nights.overdue.LOOKBACK", timedelta(0))
    assert looked_at(loaded) == Overdue(not_known={101, 102})
    monkeypatch.setattr("pipelines.runs.instance.open_instance", lambda _: nullcontext(loaded.instance))
    monkeypatch.setattr("pipelines.status.report._folder_of_runs", lambda _: None)
    [note] = [note for note in status_of(loaded.settings).notes if "left out" in note]
    assert note.startswith("What the last night of 2 schools (101, 102) left out is not known: ")
    assert note.endswith("records of the last 52 hours have no night or sync that ended.")


def test_status_and_message_say_what_did_not_come(loaded: World, monkeypatch: pytest.MonkeyPatch) -> None:
    night(loaded)
    ran(loaded.instance, SCHOOL_NIGHT, {SCHOOLS_TAG: "101"}, OSError(28, "No space left on device"))
    monkeypatch.setattr("pipelines.runs.instance.open_instance", lambda _: nullcontext(loaded.instance))
    monkeypatch.setattr("pipelines.status.report._folder_of_runs", lambda _: None)
    loaded.settings.published.touch()
    status = status_of(loaded.settings)
    failed, due = status.to_do
    assert failed.startswith("The run school_night of school 101 failed, last at ")
    assert failed.endswith(". Then campus sync loads what is lacking.")
    assert re.match(r"Due in the night of [-\d]+ [:\d]+ and not loaded: 2 schools \(101, 102\): 4", due)
    notice = due_notice(status, loaded.home)
    assert notice and notice.lines[:2] == tuple(line[:300] for line in (failed, due))


def test_status_names_slices_that_no_night_read_whole(loaded: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nights go on, but load v1 alone."""
    monkeypatch.setattr("pipelines.runs.instance.open_instance", lambda _: nullcontext(loaded.instance))
    monkeypatch.setattr("pipelines.status.report._folder_of_runs", lambda _: None)
    [first] = {row["whole_at"].date() for row in standing_rows(loaded.lake) if row["resource"] == "students"}
    lines: dict[int, list[str]] = {}
    for days in (0, 7, 8):
        with clock_at(first + timedelta(days)):
            assert not days or loaded.load(select='group:"v1"').problems == []
            night(loaded)
            to_do = status_of(loaded.settings).to_do
        lines[days] = [line for line in to_do if line.startswith("Last read whole")]
    assert lines[0] == lines[7] == [], "the night of the seventh day is still to come"
    [line] = lines[8]
    weeks = {row["slice"] for row in standing_rows(loaded.lake, [101]) if row["resource"] == RECORDS}
    assert line.startswith("Last read whole more than 7 days ago, of 2 schools (101, 102): ")
    assert f"): {len(weeks)} weeks of attendance and " in line
    assert "slices of terms, structures, reflections, students, teachers and" in line
    assert f", the oldest on {first}. " in line and "Run campus sync without --select" in line


def test_records_of_dagster_that_cannot_be_read_are_told(
    loaded: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_settings: Settings) -> None:
        raise OperationalError("SELECT", {}, ConnectionError("connection refused"))

    monkeypatch.setattr("pipelines.runs.instance.open_instance", away)
    monkeypatch.setattr("pipelines.status.report._folder_of_runs", lambda _: None)
    loaded.settings.published.touch()
    [line] = status_of(loaded.settings).to_do
    assert line.startswith(
        "Which runs have failed is not known: the database in which Dagster keeps its runs"
    )


def test_a_full_disk_is_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.runs.storage_failures.MIN_FREE", 1 << 60)
    assert any(" is full: " in line for line in status_of(Settings(home=tmp_path)).to_do)
