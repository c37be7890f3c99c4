"""The picture of core in the docs is that of the models as they are."""

from pathlib import Path

from pipelines.cli.diagram import PICTURE, drawn, entities


def test_the_picture_is_that_of_the_models_as_they_are() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn(entities()), "make diagram"


def test_keys_and_joins_are_those_that_the_checks_state(tmp_path: Path) -> None:
    (tmp_path / "models.yml").write_text(
        """
models:
  - name: dim_item
    data_tests: [{unique_key: {arguments: {columns: [school_id, item_id]}}}]
    columns:
      - name: parent_id
        data_tests: [{related: {arguments: {to: ref('dim_item'), field: item_id}}}]
  - name: fct_score
    data_tests: [{unique_key: {arguments: {columns: [school_id, item_id, "coalesce(code, '')"]}}}]
    columns:
      - name: person_id
        data_tests: [{related: {arguments: {to: ref('stg_people'), field: person_id}}}]
  - name: fct_alone
    data_tests: [{unique_key: {arguments: {columns: [school_id, alone_id]}}}]
    columns: []
""",
        encoding="utf-8",
    )
    found = entities(tmp_path)
    assert {name: (entity.key, entity.joins) for name, entity in found.items()} == {
        "dim_item": (("item_id",), {"parent_id": "dim_item"}),
        "fct_score": (("item_id", "code"), {"item_id": "dim_item"}),
    }
