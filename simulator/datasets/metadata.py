"""The metadata of a school's datasets as tables, so that tests can change the metadata like rows."""

from collections.abc import Iterable
from datetime import timedelta

from simulator.datasets.catalog import DATASETS
from simulator.datasets.definitions import Dataset, transposed
from simulator.datasets.table import Table
from simulator.school.calendar import stamp
from simulator.school.rows import Values
from simulator.settings import Size

METADATA = ("datasets", "dataset_fields", "dataset_relations")
OWNER = "dataset"  # the dataset of a field or a relation; not sent


def tables(size: Size, school_id: int, last_updates: dict[str, str | None]) -> dict[str, Table]:
    """The metadata of a school, from the last update of each dataset's rows."""
    since = stamp(size.today - timedelta(days=300), 8 * 3600)
    dated: Values = {"created_at": since, "updated_at": since}
    datasets: list[Values] = []
    fields: list[Values] = []
    relations: list[Values] = []
    for number, dataset in enumerate(DATASETS, 1):
        dataset_id = school_id * 1_000 + number
        datasets.append(
            {**_about(dataset, dataset_id), **dated, "last_updated_at": last_updates[dataset.name]}
        )
        for position, field in enumerate(dataset.fields, 1):
            key: Values = {OWNER: dataset.name, "id": dataset_id * 1_000 + position, "position": position}
            fields.append(key | field._asdict() | dated)
        for position, relation in enumerate(dataset.relations, 1):
            key = {OWNER: dataset.name, "id": dataset_id * 1_000 + position}
            relations.append(key | relation._asdict())
    return dict(zip(METADATA, map(_table, (datasets, fields, relations)), strict=True))


def _about(dataset: Dataset, dataset_id: int) -> Values:
    return {
        "id": dataset_id,
        "name": dataset.name,
        "label": dataset.label,
        "description": dataset.description,
        "is_custom": dataset.is_custom,
    }


def _table(rows: Iterable[Values]) -> Table:
    columns = transposed(rows)
    return Table(columns["id"], columns)


def identity(resource: str, key: int, position: int) -> Values:
    """The values in which inserted metadata must differ from its neighbour."""
    name = f"{resource}_{key}"
    common: Values = {"id": key, "name": name, "label": name}
    if resource == "dataset_fields":
        unset: Values = dict.fromkeys(("enum", "max_length", "precision", "scale", "description"))
        return {**common, **unset, "position": position, "primary": False}
    return common
