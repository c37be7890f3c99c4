"""`make model M=...`: builds one model and its upstream, runs its unit tests and checks, and prints its rows.

The home has two nights of a small made-up school. The first call makes the home, and so does the first call
after a change of the columns of `raw`."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import click
import duckdb
from pydantic import SecretStr

from loading.tables import TABLES
from pipelines.cli.developer.unit_tests import UnitTest, run_unit_tests, unit_tests
from pipelines.cli.terminal.display import complain, print_line, show
from pipelines.settings.settings import settings_apart
from simulator.process import running
from warehouse.publish.labels import Labels
from warehouse.publish.models.compiled_models import Model, Project, read_project
from warehouse.publish.models.dbt_project import PROJECT, Build, compiled
from warehouse.publish.models.model_runner import Built, Checked, run
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
    project, file = read_project(compiled()), _build(home).file
    model = next(model for model in project.models if model.name == f"{_schema(path)}.{path.stem}")
    with closing(duckdb.connect(str(file))) as con:
        done = list(run(con, _upstream(project, model), _tables_of_lake(con)))
    built = [result for result in done if isinstance(result, Built)]
    checked = [result for result in done if isinstance(result, Checked)]
    for result in built:
        if result.problem:
            complain(f"{result.model.name}: {result.problem}")
    for check in checked:
        print_line(f"{check.status:>8}  {check.check.name}")
    good = [result for result in built if not result.problem]
    print_line(f"{len(good)} of {len(built)} models and seeds built")
    if len(good) < len(built):
        return 1
    tests = [test for test in unit_tests() if test.model == path.stem]
    failures = run_unit_tests(tests, project, file)
    for name, differences in failures.items():
        print_line(f"{'fail' if differences else 'pass':>8}  {name}")
        for line in differences:
            print_line(f"          {line}")
    for part in missing_parts(compiled(), unit_tests(), path.stem, file):
        print_line(f" missing  {part}")
    _show_rows(file, model.name)
    return int(any(failures.values()) or any(check.forbids for check in checked))


def _upstream(project: Project, model: Model) -> Project:
    """The project of a model, its upstream, and its own checks."""
    models = {entry.name: entry for entry in project.models}
    names, todo = {model.name}, [model]
    while todo:
        inputs = [models[name] for name in todo.pop().inputs if name in models and name not in names]
        names |= {entry.name for entry in inputs}
        todo += inputs
    return Project(
        tuple(entry for entry in project.models if entry.name in names),
        # A check of two models may read one that is not built here, as it was when the home was made.
        tuple(check for check in project.checks if check.of == model.name),
        project.sources,
    )


def _tables_of_lake(con: duckdb.DuckDBPyConnection) -> list[str]:
    rows = con.execute(
        "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE schema_name IN ('raw', 'quality')"
    )
    return [name for (name,) in rows.fetchall()]


def missing_parts(manifest: Mapping[str, Any], tests: Iterable[UnitTest], name: str, file: Path) -> list[str]:
    """Name the parts of a model that the tests require and that are missing. `manifest`: the compiled
    project."""
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
    if schema == "marts" and all(test.model != name for test in tests):
        parts.append("a unit test")
    return parts


def _build(home: Path) -> Build:
    return Build(home, threads=os.cpu_count() or 1, memory_limit="1GB")


def _schema(path: Path) -> str:
    """The schema of a model: its folder (dbt_project.yml)."""
    return path.relative_to(PROJECT / "models").parts[0]


def _show_rows(file: Path, table: str) -> None:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        count = con.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        rows = con.execute(f"FROM {table} ORDER BY ALL LIMIT {SHOWN_ROWS}")
        columns = [column[0] for column in rows.description or ()]
        show(f"{table}: {count:,} rows", columns, rows.fetchall())


if __name__ == "__main__":
    main()
