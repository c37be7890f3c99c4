"""What the project replaces of dagster-dbt's private members, for which there is no public way. It imports
dbt (80 MB), so a process that only loads must not import it; dagster_private.py has what is Dagster's own."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dagster_dbt import DbtCliResource
from dagster_dbt.compat import DBT_PYTHON_VERSION
from packaging.version import Version


class Dbt(DbtCliResource):
    """dbt as a process and no more. Before a command dagster-dbt would run `dbt --version`, which asks PyPI
    for the latest, and load an adapter for the file into this process, which nothing here uses."""

    @cached_property
    def _cli_version(self) -> Version:
        return DBT_PYTHON_VERSION

    def _initialize_dbt_core_adapter(self, args: Sequence[str]) -> Any:
        return None
