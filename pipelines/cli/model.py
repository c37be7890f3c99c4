"""`make model M=...`: one model, after all that it stands on, with its unit tests, its checks and its rows.

It is built where two nights of a small made-up school are loaded and built already: in a home of its own,
made at the first call and anew when the tables of `raw` have other columns."""

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
from pipelines.cli.display import console, errors, show
from pipelines.cli.models import EXECUTABLE, FOLDERS
from pipelines.settings import settings_apart
from simulator.process import running
from warehouse.publish.dbt_project import PROJECT, Build
from warehouse.publish.labels import Labels
from warehouse.publish.publish import FILE

HOME = Path(__file__).parents[2] / "data" / "model"
STUDENTS = 60
SHOWN_ROWS = 20


@click.command()
@click.argument("name")
def main(name: str) -> None:
    """Build the model NAME and its upstream, run its unit tests and checks, and print its rows."""
    path = find(name)
    prepare(HOME)
    sys.exit(build_model(HOME, path))


def find(name: str) -> Path:
    """The file of a model. Raises click.BadParameter, with the names that are alike."""
    paths = {path.stem: path for path in (PROJECT / "models").rglob("*.sql")}
    if name not in paths:
        alike = get_close_matches(name, paths)
        hint = f"; is it {' or '.join(alike)}?" if alike else ""
        raise click.BadParameter(f"no model {name}.sql below {PROJECT / 'models'}{hint}")
    return paths[name]


def prepare(home: Path) -> None:
    """Load and build a small made-up school in `home`, if that has not been done for the tables of today."""
    made_of = home / "made_of"
    if made_of.exists() and made_of.read_text() == raw_columns():
        return
    # Dagster takes seconds to import, and the models need none of it.
    from pipelines.cli.demo import two_nights
    from pipelines.made_up import PLATFORM

    console.print(f"Once, a minute or two: a small made-up school is loaded to {home}")
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
    made_of.write_text(raw_columns())


def raw_columns() -> str:
    """A name for the tables of `raw` and their columns as the code has them now."""
    tables = {
        table.name: [(column.name, str(column.type)) for column in table.columns] for table in TABLES.values()
    }
    return sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()


def build_model(home: Path, path: Path) -> int:
    """Build one model in a prepared home and show what came of it. The exit status."""
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
            # The same each time, so that dbt parses only what has changed.
            "DBT_TARGET_PATH": str(target),
            "DBT_LOG_PATH": str(home / "logs"),
        },
        check=False,
    )
    if not results_file.exists():
        errors.print("dbt built nothing, see above")
        return 1
    results = json.loads(results_file.read_text(encoding="utf-8"))["results"]
    _tell(results)
    for piece in missing(
        json.loads((target / "manifest.json").read_text(encoding="utf-8")), name, build.file
    ):
        console.print(f" missing  {piece}", markup=False, soft_wrap=True)
    if any(_is_model(result, name) and result["status"] == "success" for result in results):
        _show_rows(build.file, f"{_schema(path)}.{name}")
    return int(done.returncode != 0)


def missing(manifest: Mapping[str, Any], name: str, file: Path) -> list[str]:
    """What the tests would ask for that a model does not have yet, in words."""
    node = manifest["nodes"][f"model.campus.{name}"]
    schema = node["schema"]
    if schema == "staging":
        return []
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        found = con.sql("SELECT schema_name, table_name, column_name FROM duckdb_columns()").fetchall()
    labels = Labels(manifest, set(found), TABLES.values())
    pieces = [
        f"a name in Chinese for {column} (label_zh under config.meta of its yml)"
        for column in node["columns"]
        if not labels.of_column(schema, name, column).label_zh
    ]
    if not labels.of_table(schema, name).label_zh:
        pieces.append("a name in Chinese for the table (label_zh under config.meta of its yml)")
    if schema == "marts" and not node["config"]["meta"].get("broken_by"):
        pieces.append("statements that break its checks (broken_by under config.meta of its yml)")
    if schema == "marts" and all(test["model"] != name for test in manifest["unit_tests"].values()):
        pieces.append("a unit test")
    return pieces


def _build(home: Path) -> Build:
    return Build(home, threads=os.cpu_count() or 1, memory_limit="1GB")


def _selection(path: Path) -> list[str]:
    """The model and all that it stands on, its unit tests, and the checks of its own yml."""
    said = path.relative_to(PROJECT).with_suffix(".yml").as_posix()
    tests = (f"{path.stem}+1,resource_type:unit_test", f"path:{said},resource_type:test")
    return ["--indirect-selection", "empty", "--select", f"+{path.stem}", *tests]


def _schema(path: Path) -> str:
    """Each folder of models is a schema (dbt_project.yml)."""
    return path.relative_to(PROJECT / "models").parts[0]


def _is_model(result: Mapping[str, Any], name: str) -> bool:
    return bool(result["unique_id"] == f"model.campus.{name}")


def _tell(results: list[dict[str, Any]]) -> None:
    for result in results:
        kind, _, found = result["unique_id"].split(".", 2)
        if kind in ("test", "unit_test"):
            console.print(f"{result['status']:>8}  {found.split('.')[1 if kind == 'unit_test' else 0]}")
    built = [result for result in results if result["unique_id"].startswith(("model.", "seed."))]
    good = [result for result in built if result["status"] == "success"]
    console.print(f"{len(good)} of {len(built)} models and seeds built")


def _show_rows(file: Path, table: str) -> None:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        count = con.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        rows = con.execute(f"FROM {table} ORDER BY ALL LIMIT {SHOWN_ROWS}")
        columns = [column[0] for column in rows.description or ()]
        show(f"{table}: {count:,} rows", columns, rows.fetchall())


if __name__ == "__main__":
    main()
