"""`make models`: compiles the models and the sources of their columns, which the first build would do else.

An installation does so where no later process may write beside the code."""

import sys

import click

from loading.tables import TABLES
from warehouse.publish.lineage import model_lineage
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import ModelsBroken, compiled


def main() -> None:
    """Compile the project, and print what it has or why it cannot be compiled."""
    try:
        project = read_project(compiled())
    except ModelsBroken as error:
        sys.exit(str(error))
    model_lineage(TABLES.values())
    click.echo(f"{len(project.models)} models, {len(project.checks)} checks")


if __name__ == "__main__":
    main()
