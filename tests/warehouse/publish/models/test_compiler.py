"""Compiles a project: Jinja to SQL, ymls to nodes."""

from pathlib import Path
from typing import Any

import pytest

from warehouse.publish.models import dbt_project
from warehouse.publish.models.compiler import Compiler
from warehouse.publish.models.dbt_project import ModelsBroken, cached

PROJECT = """
vars: {n: 5}
models:
  campus:
    core: {+schema: core, +materialized: table, +contract: {enforced: true}}
    quality: {+schema: quality, +materialized: view}
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
#: A second check of the same name.
AGAIN = "related: {name: best_related, arguments: {to: ref('best'), field: band}}"
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


def bands(check: str) -> str:
    """The yml, with a check of the seed."""
    return YML.replace("{name: bands}", f"{{name: bands, data_tests: [{check}]}}")


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
        ("models/core/best.sql", "{{ ref() }}", "models/core/best.sql: Compiler._ref() missing 1 required"),
        ("models/core/best.sql", "{{ rounded(1, 2, 3) }}", "best.sql: rounded(value, digits) takes not more"),
        ("models/a/a.sql", "", "models/a/a.sql: add +schema to models.campus.a of dbt_project.yml"),
        ("models/core/best.yml", "", "models/core/best.yml: write a section"),
        ("dbt_project.yml", "", "dbt_project.yml: write a section"),
        ("models/core/a.yml", "models: [a]", "models/core/a.yml: write each of models as `- name: …`"),
        ("models/core/a.yml", "models: [{name: a}]", "models/core/a.yml: there is no a.sql and no a.csv"),
        ("models/core/best.yml", YML.replace("field:", "feild:"), "takes no keyword argument 'feild'"),
        ("models/core/best.yml", YML.replace("name: best_related, ", ""), "best: name the check: `- related"),
        (
            "models/core/best.yml",
            bands("not_null"),
            "best.yml: bands: name the check: `- not_null: {name: …}`",
        ),
        (
            "models/core/best.yml",
            bands("{related: }"),
            "best.yml: bands: name the check: `- related: {name: …}`",
        ),
        (
            "models/core/best.yml",
            bands("{related: {name: a}, where: a}"),
            "bands: indent where below related",
        ),
        ("models/core/best.yml", YML.replace("{name: score, ", "{"), "best.sql: there is no name"),
        ("models/core/a.yml", "sources: [{name: b}]", "models/core/a.yml: there is no tables"),
        ("models/core/a.yml", "sources: [{name: b, tables: [{}]}]", "models/core/a.yml: there is no name"),
        (
            "models/core/best.yml",
            YML.replace("[{name: scores,", "[{name: scores, columns: [a],"),
            "best.yml: there is no name",
        ),
        ("models/quality/best.sql", "", "quality/best.sql: best is in models/core/best.sql too: rename one"),
        ("seeds/best.csv", "", "seeds/best.csv: best is in models/core/best.sql too"),
        ("models/core/a.yml", "models: [{name: best}]", "core/best.yml: best is in models/core/a.yml too"),
        ("macros/a.sql", MACROS, "columns is in macros/"),
        (
            "models/core/best.yml",
            bands(AGAIN),
            "best.yml: test.campus.best_related is in models/core/best.yml too",
        ),
    ],
)
def test_an_error_names_the_file(project: Path, file: str, text: str, message: str) -> None:
    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text(text)
    with pytest.raises(ModelsBroken) as error:
        nodes(project)
    assert message in str(error.value)
    # A line on the terminal.
    assert "\n" not in str(error.value)


def test_a_value_is_made_once_for_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dbt_project, "CACHE", tmp_path / "cache")
    numbers = iter(range(9))

    def make() -> int:
        return next(numbers)

    assert [cached("value", "", make), cached("value", "", make)] == [0, 0]
    assert cached("value", "of other columns", make) == 1
    monkeypatch.setattr(dbt_project, "fingerprint", lambda folder=None: "changed")
    assert cached("value", "of other columns", make) == 2
    monkeypatch.setattr(dbt_project, "version", lambda package: f"{package} 9")
    assert cached("value", "of other columns", make) == 3


@pytest.mark.parametrize("damage", ["", "{", "[]", "\udcff"])
def test_a_damaged_cache_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    monkeypatch.setattr(dbt_project, "CACHE", tmp_path)
    (tmp_path / "value.json").write_text(damage, encoding="utf-8", errors="surrogateescape")
    assert [cached("value", "", lambda: 1), cached("value", "", lambda: 2)] == [1, 1]


def test_a_cache_that_cannot_be_written_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dbt_project, "CACHE", tmp_path)
    # As on a full disk, the file cannot be put there.
    (tmp_path / "value.json").mkdir()
    assert [cached("value", "", lambda: 1), cached("value", "", lambda: 2)] == [1, 2]
