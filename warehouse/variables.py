"""The numbers that the SQL of models and Python share: the variables of the dbt project."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def read_variables() -> Mapping[str, Any]:
    """The variables of the project, which the SQL of models has as numbers."""
    project = Path(__file__).with_name("dbt") / "dbt_project.yml"
    variables: Mapping[str, Any] = yaml.safe_load(project.read_text(encoding="utf-8"))["vars"]
    return variables
