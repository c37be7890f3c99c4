"""What is private to Dagster is used in one file, and is still there after an upgrade."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import dagster as dg
import pytest

from tests.kits.repository.rooms import PRODUCT, ROOT, modules

HOLDER = "assets/shared/dagster_private.py"
LOOK = f"; see whether a public way exists now, else change {HOLDER}"


def test_one_file_holds_what_is_private() -> None:
    private_by_file = {
        str(path.relative_to(ROOT)): private
        for path in modules(PRODUCT)
        if (private := _private_modules(path))
    }
    assert private_by_file.keys() == {HOLDER}, private_by_file


def test_a_job_of_assets_is_what_is_said_to_be_one() -> None:
    private = _holder()
    job = dg.define_asset_job("any")
    assert isinstance(job, private.AssetJob), f"dg.define_asset_job gives a {type(job).__name__} now{LOOK}"


def test_nothing_that_runs_print_can_be_kept() -> None:
    named = _holder().NO_COMPUTE_LOGS
    manager = getattr(importlib.import_module(named["module"]), named["class"], None)
    assert manager, f"Dagster has no {named['class']} any more, which dagster.yaml names{LOOK}"


def test_a_step_can_have_checks_of_what_it_reads() -> None:
    @dg.multi_asset(
        specs=[dg.AssetSpec("made", deps=["read"])],
        check_specs=[dg.AssetCheckSpec("any", asset="read")],
        **_holder().CHECKS_OF_OTHER_ASSETS,
    )
    def step() -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        yield dg.MaterializeResult()

    assert [spec.asset_key for spec in step.check_specs] == [dg.AssetKey("read")], LOOK


def test_a_step_of_no_asset_can_tell_what_a_check_found() -> None:
    key = dg.AssetCheckKey(dg.AssetKey("any"), "whole")

    @dg.op
    def step(context: dg.OpExecutionContext) -> None:
        evaluation = dg.AssetCheckEvaluation(asset_key=key.asset_key, check_name=key.name, passed=True)
        _holder().log_check(context, evaluation)

    @dg.job
    def job() -> None:
        step()

    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(instance=instance).success
        assert instance.event_log_storage.get_asset_check_execution_history(key, limit=1), LOOK


def test_the_command_of_a_run_names_the_run() -> None:
    types = importlib.import_module("dagster._grpc.types")
    origin = dg.reconstructable(_any_job).get_python_origin()
    command = types.ExecuteRunArgs(origin, "a-run", None).get_command_args()
    assert command[-3:-1] == ["api", "execute_run"], "see pipelines/district/kubernetes/run_program.py"
    assert _holder().run_id_of(command[-1]) == "a-run", LOOK


@dg.job
def _any_job() -> None: ...


def test_a_webserver_gets_our_definitions() -> None:
    from dagster_webserver.webserver import DagsterWebserver

    context = importlib.import_module("dagster._core.workspace.context").WorkspaceProcessContext
    target = importlib.import_module("dagster._core.workspace.load_target").ModuleTarget
    wanted = {"instance", "workspace_load_target", "version", "read_only", "code_server_log_level"}
    assert wanted <= inspect.signature(context).parameters.keys(), LOOK
    assert target(_holder().LOCATION, None, None, None).create_origins(), LOOK
    # Dagster promises neither this class nor what it lets a subclass change.
    assert hasattr(DagsterWebserver, "build_graphql_validation_rules"), "see pipelines/ui/webserver.py"


def test_a_failure_in_words_has_no_stack_trace() -> None:
    @dg.op
    def step() -> None:
        raise _holder().MessageFailure("set CAMPUS_BASE_URL")

    @dg.job
    def job() -> None:
        step()

    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(instance=instance, raise_on_error=False)
    [failed] = [event for event in done.all_events if event.is_step_failure]
    data = failed.step_failure_data
    assert data.user_failure_data and data.user_failure_data.description == "set CAMPUS_BASE_URL"
    assert data.error and data.error.message == "set CAMPUS_BASE_URL" and data.error.stack == [], LOOK
    assert data.error.cause is None, LOOK


def test_runs_print_warnings_and_errors_alone() -> None:
    code = """
import dagster as dg
from assets.shared.dagster_private import print_warnings_only

@dg.op
def step(context):
    context.log.info("good news")
    context.log.warning("bad news")
    raise dg.Failure("worse news")

@dg.job(executor_def=dg.in_process_executor)
def job():
    step()

print_warnings_only()
with dg.DagsterInstance.ephemeral() as instance:
    done = job.execute_in_process(instance=instance, raise_on_error=False)
    kept = [record.message for record in instance.all_logs(done.run_id)]
    print("kept", any("good news" in message for message in kept))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "bad news" in done.stderr and "worse news" in done.stderr
    assert "good news" not in done.stderr and "STEP_START" not in done.stderr, LOOK
    assert done.stdout.split() == ["kept", "True"], "the UI has what is not printed"


def test_the_ui_lists_independent_steps_by_name() -> None:
    code = """
import dagster as dg
from dagster._core.execution.api import create_execution_plan
from dagster._core.remote_representation.external import RemoteExecutionPlan
from dagster._core.snap import snapshot_from_execution_plan
from assets.shared.dagster_private import sort_steps_in_ui

@dg.op
def step():
    pass

@dg.job
def job():
    for number in range(9, 0, -1):
        step.alias(f"{number}_step")()

sort_steps_in_ui()
plan = RemoteExecutionPlan(snapshot_from_execution_plan(create_execution_plan(job), "any"))
print(*(step.key[0] for step in plan.get_steps_in_plan()))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == list("123456789"), LOOK


def _holder() -> ModuleType:
    try:
        return importlib.import_module("assets.shared.dagster_private")
    except ImportError as error:
        pytest.fail(f"an upgrade has taken away what is imported: {error}{LOOK}")


def _private_modules(path: Path) -> set[str]:
    """The modules of Dagster with a private part in their names, imported or written as text."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    names = set[str]()
    for node in tree:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return {
        name
        for name in names
        if name.startswith("dagster.") and any(part[:1] == "_" for part in name.split("."))
    }
