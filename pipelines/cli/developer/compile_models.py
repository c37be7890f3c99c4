"""`make models`: compiles the dbt project into warehouse/compiled_models.json, which is part of the code, and
writes the sources of its columns beside it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from pipelines.cli.developer.compile_metrics import DOCS, check_nodes, metric_docs
from warehouse.publish.lineage import COMPILED_LINEAGE
from warehouse.publish.models.compiled_models import Project, read_project
from warehouse.publish.models.dbt_project import COMPILED, PROJECT, Build, ModelsBroken, fingerprint

# Beside this interpreter, since the environment may not be activated.
EXECUTABLE = Path(sys.executable).with_name("dbt")
FOLDERS = ("--project-dir", os.fspath(PROJECT), "--profiles-dir", os.fspath(PROJECT))
#: Fields of a node of dbt's manifest that the code reads, and fields of its `config`.
FIELDS = (
    *("unique_id", "resource_type", "schema", "name", "source_name", "alias", "attached_node", "description"),
    *("original_file_path", "compiled_code", "test_metadata"),
)
CONFIG = (
    *("materialized", "post-hook", "pre-hook", "column_types", "persist_docs", "contract", "meta"),
    *("fail_calc", "warn_if", "error_if", "severity", "store_failures", "where"),
)


def main() -> None:
    """Compile the project and write it where the code reads it."""
    DOCS.write_text(metric_docs(), encoding="utf-8")
    try:
        COMPILED.write_text(compile_project(), encoding="utf-8")
    except ModelsBroken as error:
        sys.exit(str(error))
    compiled_project = read_project(json.loads(COMPILED.read_text(encoding="utf-8")))
    models, checks = compiled_project.models, compiled_project.checks
    COMPILED_LINEAGE.write_text(compile_lineage(compiled_project), encoding="utf-8")
    click.echo(f"{COMPILED.name}: {len(models)} models, {len(checks)} checks")


def compile_lineage(project: Project) -> str:
    """The sources of the columns of a compiled project as JSON, in a stable order."""
    # The tests of the compiled models do without sqlglot.
    from pipelines.cli.developer.lineage import lineage_of

    lineage = dict(sorted(lineage_of(project).items()))
    return json.dumps({"fingerprint": fingerprint(), "lineage": lineage}, indent=1) + "\n"


def compile_project() -> str:
    """The compiled project as JSON: the parts of dbt's manifest that the code reads, in a stable order.

    Raises ModelsBroken with dbt's message."""
    with TemporaryDirectory() as folder:
        result = subprocess.run(
            [
                EXECUTABLE,
                *("--no-use-colors", "--quiet", "--log-level-file", "none", "--no-populate-cache"),
                *("compile", "--no-introspect", "--exclude", "test_type:unit", *FOLDERS),
            ],
            env={
                **os.environ,
                **Build(Path(folder), threads=1, memory_limit="1GB").environment,
                "CAMPUS_BUILD_FILE": f"{folder}/campus.duckdb",
                "DBT_TARGET_PATH": folder,
                "DBT_LOG_PATH": folder,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise ModelsBroken(f"dbt cannot compile {PROJECT}:\n{result.stdout.strip()}")
        manifest = json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))
    manifest["nodes"] |= check_nodes(manifest["nodes"])
    manifest_parts = {
        kind: {key: _node(node) for key, node in sorted(manifest[kind].items())}
        for kind in ("nodes", "sources")
    }
    return json.dumps({"fingerprint": fingerprint(), **manifest_parts}, ensure_ascii=False, indent=1) + "\n"


def _node(node: Mapping[str, Any]) -> dict[str, Any]:
    columns = {
        name: {
            "name": name,
            "data_type": column["data_type"],
            "description": column["description"],
            "config": {"meta": column["config"]["meta"]},
        }
        for name, column in node["columns"].items()
    }
    fields = {
        **{field: node[field] for field in FIELDS if node.get(field) is not None},
        "config": {field: node["config"][field] for field in CONFIG if field in node["config"]},
        "columns": columns,
    }
    if "depends_on" in node:
        fields["depends_on"] = {"nodes": sorted(node["depends_on"].get("nodes", []))}
    return fields


if __name__ == "__main__":
    main()
