"""Names in Chinese and units: said in one place, and inherited by name only from what a model reads."""

from typing import Any

import pyarrow as pa
import pytest

from warehouse.lake.tables import Column, Table
from warehouse.publish.labels import Label, Labels, english_label

TABLES = (
    Table(
        "rooms",
        (Column("capacity", pa.int64(), "", label_zh="座位数", unit="seats"),),
        ("capacity",),
        ("_school_id",),
        "",
        label_zh="教室",
    ),
    Table(
        "classes",
        (Column("capacity", pa.int64(), "", label_zh="容量", unit="students"),),
        ("capacity",),
        ("_school_id",),
        "",
    ),
)


def node(schema: str, name: str, *reads: str, **columns: dict[str, str]) -> dict[str, Any]:
    """A model as the compiled project has it; `columns`: what is said of them."""
    return {
        "schema": schema,
        "name": name,
        "depends_on": {"nodes": list(reads)},
        "columns": {column: {"config": {"meta": meta}} for column, meta in columns.items()},
    }


def labels(**models: dict[str, Any]) -> Labels:
    """Those of models that each have a column `capacity`."""
    sources = {name: node("raw", name) for name in ("rooms", "classes")}
    everywhere = {
        (table["schema"], table["name"], "capacity") for table in (*models.values(), *sources.values())
    }
    return Labels({"nodes": models, "sources": sources}, everywhere, TABLES)


def test_a_column_is_named_and_measured_as_where_it_comes_from() -> None:
    made = labels(view=node("staging", "view", "rooms"), dim=node("core", "dim", "view"))
    assert made.of_column("core", "dim", "capacity") == Label("座位数", "seats")
    assert made.of_table("raw", "rooms") == Label("教室")


def test_a_name_alone_tells_nothing() -> None:
    made = labels(new=node("core", "new"))
    assert made.of_column("core", "new", "capacity") == Label()
    assert made.of_column("raw", "reports", "capacity") == Label()


def test_tables_that_differ_leave_it_to_the_model() -> None:
    made = labels(
        both=node("core", "both", "rooms", "classes"),
        told=node("core", "told", "rooms", "classes", capacity={"label_zh": "容量", "unit": ""}),
    )
    assert made.of_column("core", "both", "capacity") == Label()
    assert made.of_column("core", "told", "capacity") == Label("容量", "")


def test_what_a_model_says_comes_first_and_goes_on_to_its_readers() -> None:
    made = labels(
        dim=node("core", "dim", "rooms", capacity={"label_zh": "可用座位数"}),
        mart=node("marts", "mart", "dim"),
    )
    assert made.of_column("marts", "mart", "capacity") == Label("可用座位数", "seats")


def test_a_view_that_renames_is_named_by_its_readers() -> None:
    made = labels(
        view=node("staging", "view", "rooms"), dim=node("core", "dim", "view", seats={"label_zh": "座位"})
    )
    assert made.of_renamed(("staging", "view"), "seats").label_zh == "座位"


@pytest.mark.parametrize(
    ("table", "column", "label"),
    [
        ("dim_admin_class", "deputy_names", "Deputies"),
        ("dim_admin_class", "admin_class_names", "Admin classes"),
        ("dim_admin_class", "day_names", "Days"),
        ("dim_admin_class", "key_names", "Keys"),
        ("dim_admin_class", "branch_names", "Branches"),
        ("dim_admin_class", "dish_names", "Dishes"),
        ("dim_admin_class", "box_names", "Boxes"),
        ("dim_admin_class", "student_name", "Student"),
        ("dim_admin_class", "structure_ids", "Structure IDs"),
        ("grade_class_against_cohort", "others_mean", "Mean of the others"),
        ("early_warning_history", "change_zh", "Change (Chinese)"),
        ("attendance_class_week", "recording_rate", "Rolls taken"),
        ("dim_admin_class", None, "Admin class"),
    ],
)
def test_a_column_has_an_english_name(table: str, column: str | None, label: str) -> None:
    """A measure is named as in the catalogue of measures, whatever its column is called."""
    assert english_label("marts", table, column) == label
