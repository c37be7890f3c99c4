"""The work of `campus catalog`: prints views of the open tables."""

import sys
from collections.abc import Collection

from pipelines.cli.terminal.display import USAGE, fail
from warehouse.published.catalog import catalog_sql, read_catalog
from warehouse.published.shards import PublicationBroken, Shards


def run_catalog(shards: Shards | None, schools: Collection[int]) -> int:
    """Print the statements for a DuckDB session. Returns the exit status."""
    if shards is None or not shards.has_tables:
        return fail("there are no open tables: set publish.tables and publish.schools_per_shard", USAGE)
    try:
        catalog, _ = read_catalog(shards)
        if not catalog.files:
            return fail(f"{shards.root} has no open tables yet: run `campus build`")
        for statement in catalog_sql(shards, catalog, schools):
            sys.stdout.write(f"{statement}\n")
    except PublicationBroken as error:
        return fail(error)
    return 0
