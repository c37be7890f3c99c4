"""warehouse/compiled_models.json: the dbt project as dbt compiles it."""

import pytest

from pipelines.cli.developer.compile_models import compile_project
from warehouse.publish.models import dbt_project
from warehouse.publish.models.dbt_project import COMPILED, ModelsBroken, compiled


def test_the_compiled_models_are_those_of_the_project() -> None:
    assert compile_project() == COMPILED.read_text(encoding="utf-8"), "run `make models`"


def test_a_changed_project_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a build would go on with the SQL from before the change."""
    monkeypatch.setattr(dbt_project, "fingerprint", lambda: "0" * 16)
    compiled.cache_clear()
    with pytest.raises(ModelsBroken, match="run `make models`"):
        compiled()
    compiled.cache_clear()
