"""Compiles a project: Jinja to SQL, ymls to nodes."""

from pathlib import Path
from typing import Any

import pytest

from warehouse.publish.models import dbt_project
from warehouse.publish.models.compiler import Compiler
from warehouse.publish.models.dbt_project import ModelsBroken, cached

PROJECT = """
vars: {n: 5}
models: {campus: {core: {+schema: core, +materialized: table, +contract: {enforced: true}}}}
seeds: {campus: {+schema: seeds}}
data_tests: {campus: {+schema: quality}}
"""
YML = """
sources:
  - name: raw
    tables: [{name: scores, description: Scores}]
models:
  - name: best
    description: "{{ doc('best') }}"
    data_tests:
      - related: {name: best_related, arguments: {to: ref('bands'), field: band}, config: {where: score > 0}}
    columns:
      - {name: score, data_type: bigint, description: The score}
seeds:
  - {name: bands}
"""
MACROS = """
{#- Ends early. -#}
{% macro columns() -%}
    {{ return(['band', 'score']) }}
{%- endmacro %}
{% macro rounded(value, digits=2) -%} round({{ value }}, {{ digits }}) {%- endmacro %}
"""
RELATED = """
{% test related(model, to, field) %}
    {{ config(severity='warn', store_failures=true) }}
    from {{ model }} anti join {{ to }} using ({{ field }})
{% endtest %}
"""
BEST = """
{%- for column in columns() %}
select {{ rounded(column) }} from {{ source('raw', 'scores') }} join {{ ref('bands') }} on n > {{ var('n') }}
{%- endfor %}
"""
FILES = {
    "dbt_project.yml": PROJECT,
    "models/core/best.sql": BEST,
    "models/core/best.yml": YML,
    "macros/numbers.sql": MACROS,
    "tests/generic/related.sql": RELATED,
    "seeds/bands.csv": "band\n1\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def nodes(project: Path) -> dict[str, Any]:
    return Compiler(project, {"best": "The best scores"}).compile()["nodes"]


def test_a_model_becomes_sql(project: Path) -> None:
    model = nodes(project)["model.campus.best"]
    from_both = 'from "campus"."raw"."scores" join "campus"."seeds"."bands" on n > 5'
    assert model["compiled_code"] == (
        f"\nselect round(band, 2) {from_both}\nselect round(score, 2) {from_both}"
    )
    assert model["depends_on"] == {"nodes": ["seed.campus.bands", "source.campus.raw.scores"]}
    assert (model["schema"], model["description"]) == ("core", "The best scores")
    assert model["config"]["contract"] == {"enforced": True}
    assert model["columns"]["score"]["data_type"] == "bigint"


def test_a_check_takes_its_kind_and_arguments(project: Path) -> None:
    check = nodes(project)["test.campus.best_related"]
    assert " ".join(check["compiled_code"].split()) == (
        'from (select * from "campus"."core"."best" where score > 0) dbt_subquery'
        ' anti join "campus"."seeds"."bands" using (band)'
    )
    assert check["attached_node"] == "model.campus.best"
    assert check["config"] == {"severity": "warn", "store_failures": True, "where": "score > 0", "meta": {}}


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("models/core/best.sql", "from {{ ref('worst') }}", "models/core/best.sql: there is no worst"),
        ("models/core/best.sql", "{{ unknown() }}", "models/core/best.sql: 'unknown' is undefined"),
        ("models/core/best.sql", "{% if %}", "models/core/best.sql: Expected an expression"),
        ("models/core/best.sql", "{{ config(tags='a') }}", "configuration tags is not supported"),
        ("models/core/second.sql", "select 1", "models/core/second.sql: there is no second"),
        ("models/core/best.yml", "models: [", "models/core/best.yml: while parsing"),
        ("tests/generic/related.sql", "", "models/core/best.yml: there is no test_related"),
    ],
)
def test_an_error_names_the_file(project: Path, file: str, text: str, message: str) -> None:
    (project / file).write_text(text)
    with pytest.raises(ModelsBroken, match=message.replace("(", r"\(")):
        nodes(project)


def test_a_value_is_made_once_for_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dbt_project, "CACHE", tmp_path / "cache")
    numbers = iter(range(9))

    def make() -> int:
        return next(numbers)

    assert [cached("value", "", make), cached("value", "", make)] == [0, 0]
    assert cached("value", "of other columns", make) == 1
    monkeypatch.setattr(dbt_project, "fingerprint", lambda folder=None: "changed")
    assert cached("value", "of other columns", make) == 2
