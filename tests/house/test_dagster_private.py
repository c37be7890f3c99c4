"""What is private to Dagster and dagster-dbt is used in one file, and is still there after an upgrade."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import dagster as dg
import pytest
from dagster_dbt import DbtCliResource

ROOT = Path(__file__).parents[2]
HOLDER = "assets/dagster_private.py"
DBT_HOLDER = "assets/dbt_private.py"
ROOMS = ("campus", "warehouse", "loading", "assets", "exports", "pipelines")
LOOK = f"; see whether a public way exists now, else change {HOLDER} or {DBT_HOLDER}"


def test_one_file_holds_what_is_private() -> None:
    found = {
        str(path.relative_to(ROOT)): private
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if (private := _private_modules(path))
    }
    assert found.keys() == {HOLDER}, found


def test_a_job_of_assets_is_what_is_said_to_be_one() -> None:
    private = _holder()
    job = dg.define_asset_job("any")
    assert isinstance(job, private.AssetJob), f"dg.define_asset_job gives a {type(job).__name__} now{LOOK}"


def test_nothing_that_runs_print_can_be_kept() -> None:
    named = _holder().NO_COMPUTE_LOGS
    manager = getattr(importlib.import_module(named["module"]), named["class"], None)
    assert manager, f"Dagster has no {named['class']} any more, which dagster.yaml names{LOOK}"


@pytest.mark.parametrize(
    ("member", "otherwise"),
    [
        ("_cli_version", "each build would run `dbt --version`, which asks PyPI for the latest"),
        ("_initialize_dbt_core_adapter", "each build would load an adapter that opens the build's file"),
    ],
)
def test_dagster_dbt_still_has_what_is_put_aside(member: str, otherwise: str) -> None:
    replaced = vars(_dbt_holder().Dbt)
    assert member in vars(DbtCliResource) and member in replaced, (
        f"DbtCliResource has no {member} any more, so that without a word {otherwise}{LOOK}"
    )


def test_a_process_that_loads_does_not_import_dbt() -> None:
    code = "import sys, pipelines.definitions, pipelines.automation; print('dbt' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_version_of_dbt_is_what_dagster_dbt_takes_it_for() -> None:
    expected = get_type_hints(vars(DbtCliResource)["_cli_version"].func)["return"]
    version = _dbt_holder().DBT_PYTHON_VERSION
    assert isinstance(version, expected), f"dagster_dbt.compat gives {version!r} for dbt's version{LOOK}"


def _dbt_holder() -> ModuleType:
    return _holder("assets.dbt_private")


def _holder(name: str = "assets.dagster_private") -> ModuleType:
    try:
        return importlib.import_module(name)
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
        if name.startswith(("dagster.", "dagster_dbt.")) and any(part[:1] == "_" for part in name.split("."))
    }
