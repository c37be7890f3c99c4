"""What a command imports: what it does not need is half of what some of them cost."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: What only few commands need, or what else costs.
OF_FEW = {"celery", "dagster_postgres", "kubernetes", "openpyxl", "psycopg2", "sqlglot", "uvicorn"}
HEAVY = {"dagster", "deltalake", "duckdb", "httpx", "polars", "pyarrow", "pydantic", "sqlalchemy"}


@pytest.mark.parametrize(
    ("modules", "not_needed"),
    [
        ("pipelines.cli.main", OF_FEW | HEAVY),
        ("pipelines.settings.settings", OF_FEW | HEAVY - {"pyarrow", "pydantic"}),
        ("pipelines.cli.actions.sql", OF_FEW | HEAVY - {"duckdb", "pyarrow"}),
        ("pipelines.cli.doctor", OF_FEW | {"amqp", "dagster", "redis", "sqlalchemy"}),
        ("pipelines.cli.actions.status", OF_FEW | {"dagster", "httpx", "polars", "sqlalchemy"}),
        (
            "pipelines.nights.failed_runs, pipelines.nights.overdue, pipelines.nights.stalled_queue",
            OF_FEW | {"exports.export", "pipelines.definitions", "xlsxwriter"},
        ),
        ("pipelines.cli.actions.load, pipelines.definitions", OF_FEW),
        ("pipelines.automation.exports, pipelines.deliveries.automation", OF_FEW),
    ],
)
def test_what_is_not_needed_is_not_imported(modules: str, not_needed: set[str]) -> None:
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not_needed.isdisjoint(done.stdout.split())
