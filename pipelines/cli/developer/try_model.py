"""`make model M=...`: builds one model and its upstream, runs its unit tests and checks, and prints its rows.

The home has two nights of a small made-up school. The first call makes the home, and so does the first call
after a change of the columns of `raw`."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import click
import duckdb
from pydantic import SecretStr

from loading.tables import TABLES
from pipelines.cli.developer.compile_models import EXECUTABLE, FOLDERS
from pipelines.cli.terminal.display import complain, print_line, show
from pipelines.settings.settings import settings_apart
from simulator.process import running
from warehouse.publish.labels import Labels
from warehouse.publish.models.dbt_project import PROJECT, Build
from warehouse.publish.publish import FILE

HOME = Path(__file__).parents[3] / "data" / "model"
STUDENTS = 60
SHOWN_ROWS = 20


@click.command()
@click.argument("name")
def main(name: str) -> None:
    """Build the model NAME and its upstream, run its unit tests and checks, and print its rows."""
    path = find_model(name)
    prepare(HOME)
    sys.exit(build_model(HOME, path))


def find_model(name: str) -> Path:
    """The file of a model. Raises click.BadParameter with similar names."""
    paths = {path.stem: path for path in (PROJECT / "models").rglob("*.sql")}
    if name not in paths:
        similar = get_close_matches(name, paths)
        hint = f"; is it {' or '.join(similar)}?" if similar else ""
        raise click.BadParameter(f"no model {name}.sql below {PROJECT / 'models'}{hint}")
    return paths[name]


def prepare(home: Path) -> None:
    """Load and build a small made-up school in `home`, unless the home has the current columns of `raw`."""
    fingerprint = home / "made_of"
    if fingerprint.exists() and fingerprint.read_text() == raw_columns():
        return
    # Imported only here: Dagster takes seconds to import, and models do not need it.
    from pipelines.cli.actions.demo import two_nights
    from pipelines.settings.simulated_platform import PLATFORM

    print_line(f"Loading a small made-up school to {home}, once: it takes a minute or two")
    shutil.rmtree(home, ignore_errors=True)
    with running(schools=1, students=STUDENTS, **PLATFORM) as platform:
        address = {
            "base_url": platform.base_url,
            "client_id": platform.client_id,
            "client_secret": SecretStr(platform.client_secret),
        }
        settings = settings_apart(home).model_copy(update=address)
        if two_nights(settings, platform):
            raise click.ClickException("the school could not be loaded and built, see above")
    file = _build(home).file
    shutil.copy(home / FILE, file)
    file.chmod(0o600)
    fingerprint.write_text(raw_columns())


def raw_columns() -> str:
    """A fingerprint of the tables of `raw` and their columns."""
    tables = {
        table.name: [(column.name, str(column.type)) for column in table.columns] for table in TABLES.values()
    }
    return sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()


def build_model(home: Path, path: Path) -> int:
    """Build one model in a prepared home and print the results. Returns the exit status."""
    name = path.stem
    build = _build(home)
    target = home / "target"
    results_file = target / "run_results.json"
    results_file.unlink(missing_ok=True)
    done = subprocess.run(
        [
            os.fspath(EXECUTABLE),
            "--log-level",
            "warn",
            "build",
            "--full-refresh",
            *_selection(path),
            *FOLDERS,
        ],
        env={
            **os.environ,
            **build.environment,
            # The same for each call, so that dbt parses only changed files.
            "DBT_TARGET_PATH": str(target),
            "DBT_LOG_PATH": str(home / "logs"),
        },
        check=False,
    )
    if not results_file.exists():
        complain("dbt built nothing, see above")
        return 1
    results = json.loads(results_file.read_text(encoding="utf-8"))["results"]
    _print_results(results)
    manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    for part in missing_parts(manifest, name, build.file):
        print_line(f" missing  {part}")
    if any(_is_model(result, name) and result["status"] == "success" for result in results):
        _show_rows(build.file, f"{_schema(path)}.{name}")
    return int(done.returncode != 0)


def missing_parts(manifest: Mapping[str, Any], name: str, file: Path) -> list[str]:
    """Name the parts of a model that the tests require and that are missing."""
    node = manifest["nodes"][f"model.campus.{name}"]
    schema = node["schema"]
    if schema == "staging":
        return []
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        columns = con.sql("SELECT schema_name, table_name, column_name FROM duckdb_columns()").fetchall()
    labels = Labels(manifest, set(columns), TABLES.values())
    parts = [
        f"a name in Chinese for {column} (label_zh under config.meta of its yml)"
        for column in node["columns"]
        if not labels.of_column(schema, name, column).label_zh
    ]
    if not labels.of_table(schema, name).label_zh:
        parts.append("a name in Chinese for the table (label_zh under config.meta of its yml)")
    if schema == "marts" and not node["config"]["meta"].get("broken_by"):
        parts.append("statements that break its checks (broken_by under config.meta of its yml)")
    if schema == "marts" and all(test["model"] != name for test in manifest["unit_tests"].values()):
        parts.append("a unit test")
    return parts


def _build(home: Path) -> Build:
    return Build(home, threads=os.cpu_count() or 1, memory_limit="1GB")


def _selection(path: Path) -> list[str]:
    """dbt's selection: the model and its upstream, its unit tests, and the checks of its own yml."""
    yml = path.relative_to(PROJECT).with_suffix(".yml").as_posix()
    tests = (f"{path.stem}+1,resource_type:unit_test", f"path:{yml},resource_type:test")
    return ["--indirect-selection", "empty", "--select", f"+{path.stem}", *tests]


def _schema(path: Path) -> str:
    """The schema of a model: its folder (dbt_project.yml)."""
    return path.relative_to(PROJECT / "models").parts[0]


def _is_model(result: Mapping[str, Any], name: str) -> bool:
    return bool(result["unique_id"] == f"model.campus.{name}")


def _print_results(results: list[dict[str, Any]]) -> None:
    for result in results:
        kind, _, name = result["unique_id"].split(".", 2)
        if kind in ("test", "unit_test"):
            print_line(f"{result['status']:>8}  {name.split('.')[1 if kind == 'unit_test' else 0]}")
    built = [result for result in results if result["unique_id"].startswith(("model.", "seed."))]
    good = [result for result in built if result["status"] == "success"]
    print_line(f"{len(good)} of {len(built)} models and seeds built")


def _show_rows(file: Path, table: str) -> None:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        count = con.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        rows = con.execute(f"FROM {table} ORDER BY ALL LIMIT {SHOWN_ROWS}")
        columns = [column[0] for column in rows.description or ()]
        show(f"{table}: {count:,} rows", columns, rows.fetchall())


if __name__ == "__main__":
    main()
