"""Registers the functions in Python that models call where dbt runs models (dbt/profiles.yml)."""

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection

from warehouse.publish.models.sql_functions import register_functions


class Plugin(BasePlugin):
    """The plugin of dbt-duckdb, which looks for this name."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        register_functions(conn)
