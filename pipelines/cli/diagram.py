"""`make diagram`: docs/pictures/core.svg, the tables of `core` with their keys and how they join.

All of it is what the yml files of the models say: keys by their checks `unique_key`, joins by their checks
`related`. A column of a key that has the name of another table's own key joins that table, too."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import yaml

from warehouse.publish.dbt_project import PROJECT

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "core.svg"
#: Of every key and every join, so that it is said once and not drawn.
SCHOOL = "school_id"
PREFIXES = ("dim_", "fct_", "bridge_")
#: Told apart by the colour-blind (Okabe and Ito); tables that are joined take them in turn.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3a8fb7", "#555555")
WIDTH, LINE, GAP, BETWEEN, MARGIN, TOP = 228, 17, 18, 44, 16, 62


@dataclass(frozen=True)
class Entity:
    """A table: the columns of its key, and which column joins which table."""

    name: str
    key: tuple[str, ...]
    joins: Mapping[str, str]

    @property
    def rows(self) -> list[str]:
        return [*self.key, *(column for column in self.joins if column not in self.key)]

    @property
    def height(self) -> int:
        return LINE * (len(self.rows) + 1) + 8


def entities(folder: Path = PROJECT / "models" / "core") -> dict[str, Entity]:
    """The dimensions, facts and bridges that join another one, or are joined."""
    models = [
        model
        for file in sorted(folder.glob("*.yml"))
        for model in yaml.safe_load(file.read_text(encoding="utf-8")).get("models", ())
        if model["name"].startswith(PREFIXES)
    ]
    keys = {model["name"]: _key(model) for model in models}
    owners = {key[0]: name for name, key in reversed(keys.items()) if len(key) == 1}
    found = {}
    for model in models:
        name = model["name"]
        named = {column: owners[column] for column in keys[name] if owners.get(column, name) != name}
        stated = {column: table for column, table in _stated(model) if table in keys}
        found[name] = Entity(name, keys[name], named | stated)
    joined = {table for entity in found.values() for table in entity.joins.values()}
    return {name: entity for name, entity in found.items() if entity.joins or name in joined}


def drawn(tables: Mapping[str, Entity]) -> str:
    """The picture: what is joined stands to the left of what joins it."""
    places, width, height = _places(tables)
    joined = sorted({table for entity in tables.values() for table in entity.joins.values()})
    colours = {table: COLOURS[index % len(COLOURS)] for index, table in enumerate(joined)}
    lines = [line for entity in tables.values() for line in _lines(entity, places, colours)]
    boxes = [line for entity in tables.values() for line in _box(entity, places, colours)]
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}'
            ' font-family="ui-monospace, Consolas, Menlo, monospace" font-size="11">',
            "<title>The tables of core, their keys and how they join</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{MARGIN}" y="26" font-size="15" font-weight="bold">core: keys and joins</text>',
            f'<text x="{MARGIN}" y="44" fill="#444">Bold: the key, with {SCHOOL} in front of it.'
            f" → names the table that a column joins, always with {SCHOOL} as well;"
            " a line leads there where that table is in the next column.</text>",
            *lines,
            *boxes,
            "</svg>",
            "",
        ]
    )


def _key(model: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of its first key; what is computed there is shown as the column that it is computed of."""
    checks = (check["unique_key"] for check in model["data_tests"] if "unique_key" in check)
    columns = next(checks)["arguments"]["columns"]
    return tuple(
        column.removeprefix("coalesce(").split(",")[0] for column in columns if column != SCHOOL
    ) or tuple(columns)


def _stated(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for column in model["columns"]:
        for check in column.get("data_tests", ()):
            if "related" in check and column["name"] != SCHOOL:
                yield column["name"], check["related"]["arguments"]["to"].split("'")[1]


def _places(tables: Mapping[str, Entity]) -> tuple[dict[str, tuple[int, int]], int, int]:
    """The corner of each table, and the size of the whole."""
    ranks: dict[str, int] = {}

    def rank(name: str) -> int:
        if name not in ranks:
            below = [rank(table) for table in tables[name].joins.values() if table != name]
            ranks[name] = max(below, default=-1) + 1
        return ranks[name]

    places: dict[str, tuple[int, int]] = {}
    bottom = 0
    for column in range(max(map(rank, tables)) + 1):
        y = TOP
        # Beside what it joins, so that lines are short.
        for name in sorted(
            (name for name in tables if rank(name) == column), key=lambda n: _height(n, tables, places)
        ):
            places[name] = (MARGIN + column * (WIDTH + BETWEEN), y)
            y += tables[name].height + GAP
        bottom = max(bottom, y)
    width = max(x for x, _ in places.values()) + WIDTH + MARGIN
    return places, width, bottom + MARGIN - GAP


def _height(
    name: str, tables: Mapping[str, Entity], places: Mapping[str, tuple[int, int]]
) -> tuple[float, str]:
    heights = [places[table][1] for table in tables[name].joins.values() if table in places]
    return sum(heights) / len(heights) if heights else 0, name


def _lines(
    entity: Entity, places: Mapping[str, tuple[int, int]], colours: Mapping[str, str]
) -> Iterator[str]:
    x, top = places[entity.name]
    for index, column in enumerate(entity.rows, start=1):
        table = entity.joins.get(column, entity.name)
        # Further away it would pass behind other tables; the words tell it.
        if x - places[table][0] != WIDTH + BETWEEN:
            continue
        y = top + LINE * index + 11
        to_x, to_y = places[table][0] + WIDTH, places[table][1] + 12
        bend = BETWEEN // 2
        yield (
            f'<path d="M{x} {y} C{x - bend} {y} {to_x + bend} {to_y} {to_x} {to_y}" fill="none"'
            f' stroke="{colours[table]}" stroke-width="1.3"/>'
        )


def _box(entity: Entity, places: Mapping[str, tuple[int, int]], colours: Mapping[str, str]) -> Iterator[str]:
    x, y = places[entity.name]
    colour = colours.get(entity.name, "#222222")
    corner = f'<rect x="{x}" y="{y}" width="{WIDTH}" rx="3"'
    yield f'{corner} height="{entity.height}" fill="white" stroke="{colour}"/>'
    yield f'{corner} height="{LINE + 4}" fill="{colour}"/>'
    yield f'<text x="{x + 7}" y="{y + 15}" fill="white" font-weight="bold">{escape(entity.name)}</text>'
    for index, column in enumerate(entity.rows, start=1):
        table = entity.joins.get(column)
        weight = ' font-weight="bold"' if column in entity.key else ""
        at = y + LINE * index + 15
        yield f'<text x="{x + 7}" y="{at}"{weight}>{escape(column)}</text>'
        if table:
            short = "itself" if table == entity.name else table.removeprefix("dim_")
            yield (
                f'<text x="{x + WIDTH - 7}" y="{at}" text-anchor="end" font-size="9"'
                f' fill="{colours[table]}">→ {escape(short)}</text>'
            )


if __name__ == "__main__":
    PICTURE.write_text(drawn(entities()), encoding="utf-8")
