"""Compiles the catalogue of measures: the texts that the ymls of models take, and a check for each place that
shows measures."""

from collections.abc import Iterator
from typing import Any

from warehouse.identifiers import listed, literal, quoted
from warehouse.metrics import TABLE, Base, Place, catalogue
from warehouse.publish.models.compiler import CHECK_CONFIG


def metric_docs() -> dict[str, str]:
    """The texts that a model's yml takes by `doc('<measure>')`: the definition of each measure."""
    return {name: metric.definitions()[0] for name, metric in catalogue().metrics.items()}


def check_nodes(nodes: dict[str, Any]) -> dict[str, Any]:
    """The checks that each place shows the measures, as nodes of the compiled project. `nodes`: of models."""
    keys = {f"{node['schema']}.{node['name']}": key for key, node in nodes.items() if "schema" in node}
    checks = {}
    for place in catalogue().places:
        base_name = catalogue().metrics[next(iter(place.columns.values()))].base
        base = catalogue().bases[base_name]
        grain = list(place.by)[-1].removesuffix("_id").removesuffix("_name")
        name = f"{place.table.partition('.')[2]}_same_{base_name}_by_{grain}"
        checks[f"test.campus.{name}"] = {
            "unique_id": f"test.campus.{name}",
            "resource_type": "test",
            "schema": "quality",
            "name": name,
            "alias": name,
            "attached_node": keys[place.table],
            "description": f"Each value equals the measure: {', '.join(_measures(place))}",
            "original_file_path": "metrics.yml",
            "compiled_code": _sql(place, base, _types(nodes[keys[place.table]])),
            "test_metadata": {"name": "same_measure", "kwargs": {}},
            "config": {**CHECK_CONFIG, "severity": "warn", "store_failures": True},
            "columns": {},
            "depends_on": {"nodes": sorted({keys[table] for table in (place.table, *base.tables)})},
        }
    return checks


def _measures(place: Place) -> Iterator[str]:
    for column, name in place.columns.items():
        yield name if column == name else f"{column} ({name})"


def _types(node: dict[str, Any]) -> dict[str, str]:
    """The type of each column, by its contract."""
    return {name: column["data_type"] for name, column in node["columns"].items()}


def _sql(place: Place, base: Base, types: dict[str, str]) -> str:
    """The query for values that differ from the measure, or that the measure has in several groups."""
    split = catalogue().split_of(place.by)
    query = base.query.replace('"by"', f"[{', '.join(map(literal, split))}]")
    keys = listed(list(place.by))
    # A measure has a row for each combination of all columns of its dimensions, not of the ids alone.
    whole_key = [*place.by, *(column for name in split for column in catalogue().dimensions[name].columns)]
    measures = [
        f"{catalogue().metrics[name].shown(types[column])} AS {quoted(f'measured {column}')}"
        for column, name in place.columns.items()
    ]
    shown = [f"{sql} AS {quoted(f'place {name}')}" for name, sql in place.by.items()]
    joined = (
        f"shown.{quoted(f'place {name}')} IS NOT DISTINCT FROM measured.{quoted(name)}" for name in place.by
    )
    different = (
        f"shown.{quoted(column)} <> measured.{quoted(f'measured {column}')} "
        f"OR (shown.{quoted(column)} IS NOT NULL AND measured.{quoted(f'measured {column}')} IS NULL)"
        for column in place.columns
    )
    sql = f"""
    WITH measured AS (
        SELECT {keys}, {", ".join(measures)}, count(*) OVER (PARTITION BY {keys}) AS groups
        FROM ({query})
        GROUP BY {listed(list(dict.fromkeys(whole_key)))}
    ),

    shown AS (
        SELECT {", ".join(shown)}, {listed(list(place.columns))}
        FROM {place.table}
        WHERE {place.condition}
    )

    SELECT *
    FROM shown
    LEFT JOIN measured ON {" AND ".join(joined)}
    WHERE groups > 1 OR {" OR ".join(different)}
"""
    return TABLE.sub(r'"campus"."\1"."\2"', sql)
