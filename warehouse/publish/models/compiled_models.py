"""The models and checks of the compiled dbt project as data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

from warehouse.identifiers import relation
from warehouse.publish.models.dbt_project import DATABASE, PROJECT, ModelsBroken, source_of

#: The kinds of sources of a column: they give its values, or choose the rows that give them.
VALUE, CONDITION = "value", "condition"


@dataclass(frozen=True)
class ModelColumn:
    """A column of a model's yml. `type`: None without a contract."""

    name: str
    type: str | None
    comment: str


@dataclass(frozen=True)
class Narrowed:
    """The part of a table that closed semesters read: `columns` of the rows that meet `condition` (SQL). If
    `columns` has the semester, only rows of closed semesters."""

    columns: tuple[str, ...]
    condition: str = ""
    #: Of a table without semesters: the table that has the semester of each row, and the column of both.
    semester_of: tuple[str, str] | None = None
    #: The rows of the table, if they are in more than one file; empty: the table itself.
    rows: str = ""


@dataclass(frozen=True)
class Frozen:
    """A divided model: its rows of closed semesters are in the frozen file (frozen.py)."""

    #: By input (`schema.table`) outside the frozen file, the part that these rows are made from.
    reads: Mapping[str, Narrowed]
    #: Columns beside the semester of which no value occurs in both a closed and an open semester.
    apart: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """A table or view made by SQL, or a table made from a CSV file."""

    #: `schema.table`, as are the inputs.
    name: str
    #: table, view or seed.
    kind: str
    #: A query; of a seed, the path of its file.
    sql: str
    #: The SQL as written, with Jinja.
    source: str
    comment: str
    #: The columns that the yml names, in order.
    columns: tuple[ModelColumn, ...]
    #: Models and tables of the lake.
    inputs: tuple[str, ...]
    #: Statements that run after the model is made.
    after: tuple[str, ...] = ()
    #: Whether comments are written to the file.
    documented: bool = False
    #: Whether the table has exactly these columns, of these types.
    is_contract: bool = False
    #: Of a seed: the columns by which a home's own rows replace default rows (thresholds.py).
    own_by: tuple[str, ...] = ()
    #: Of a seed: whether a home may add rows with new values in these columns.
    own_new_ones: bool = False
    #: Whether district.duckdb has it.
    for_district: bool = False
    #: None: the model is not divided.
    frozen: Frozen | None = None
    #: By input, the part that a closed semester is made from (by_semester.py); None: the model is made whole.
    by_semester: Mapping[str, Narrowed] | None = None
    #: Whether a school's rows are made from rows of that school, and from seeds (changed_rows.py).
    by_school: bool = True
    #: The inputs of which a semester's rows need the rows of that semester only.
    semester_inputs: tuple[str, ...] = ()

    @property
    def schema(self) -> str:
        return self.name.partition(".")[0]

    @property
    def relation(self) -> str:
        """The quoted name."""
        return relation(self.name)


def compiled_name(name: str, database: str = DATABASE) -> str:
    """A table as compiled SQL names it."""
    return f'"{database}".{relation(name)}'


def replace_inputs(sql: str, queries: Mapping[str, str]) -> str:
    """Compiled SQL that reads queries in place of tables.

    Args:
        queries: By `schema.table`."""
    by_name = {compiled_name(name): f"({query})" for name, query in queries.items()}
    # In one pass: a query may name another table.
    return re.sub("|".join(map(re.escape, by_name)), lambda match: by_name[match[0]], sql) if by_name else sql


@dataclass(frozen=True)
class Check:
    """A query that finds rows which break a rule."""

    name: str
    #: The model or source (`schema.table`) that is checked.
    of: str
    sql: str
    inputs: tuple[str, ...]
    #: Whether a row blocks the publication; otherwise it is a warning.
    blocks: bool
    #: The table of `quality` that stores the rows; None: they are not stored.
    keeps: str | None
    #: The rule in words, for whoever broke it.
    words: str = ""


@dataclass(frozen=True)
class Project:
    """The models and checks of a compiled project."""

    #: In build order: each model after its inputs.
    models: tuple[Model, ...]
    checks: tuple[Check, ...]
    #: Descriptions of the tables that no model makes.
    sources: Mapping[str, str] = field(default_factory=dict)


def read_project(manifest: Mapping[str, Any]) -> Project:
    """The models and checks of a compiled project (`dbt_project.compiled`).

    Raises ModelsBroken if the project uses a feature of dbt that the runner of this package lacks."""
    names = {
        key: f"{node.get('source_name') or node['schema']}.{node['name']}"
        for key, node in {**manifest["sources"], **manifest["nodes"]}.items()
    }
    nodes = manifest["nodes"].values()
    models = {
        model.name: model
        for node in nodes
        if node["resource_type"] in ("model", "seed")
        for model in [_model(node, names)]
    }
    graph = {
        name: [parent for parent in model.inputs if parent in models]
        for name, model in sorted(models.items())
    }
    checks = (_check(node, names) for node in nodes if node["resource_type"] == "test")
    return Project(
        tuple(models[name] for name in TopologicalSorter(graph).static_order()),
        tuple(sorted(checks, key=lambda check: check.name)),
        {names[key]: source["description"] for key, source in manifest["sources"].items()},
    )


def _model(node: Mapping[str, Any], names: Mapping[str, str]) -> Model:
    config, is_seed = node["config"], node["resource_type"] == "seed"
    if config["materialized"] not in ("seed", "table", "view"):
        raise ModelsBroken(f"{node['name']}: models are tables or views, not {config['materialized']}")
    hooks = config["post_hook"]
    after = (hooks,) if isinstance(hooks, str) else tuple(hooks)
    if any("{{" in statement for statement in after):
        raise ModelsBroken(f"{node['name']}: a hook is a post_hook of plain SQL, without Jinja")
    types = {name: column["data_type"] for name, column in node["columns"].items()}
    own = config["meta"].get("own_rows", {})
    if is_seed:
        types = config["column_types"]
    return Model(
        name=names[node["unique_id"]],
        kind=config["materialized"],
        sql=str(PROJECT / node["original_file_path"]) if is_seed else node["compiled_code"],
        source=source_of(node),
        comment=node["description"],
        columns=tuple(
            ModelColumn(name, types.get(name), column["description"])
            for name, column in node["columns"].items()
        ),
        inputs=_inputs(node, names),
        after=after,
        documented=bool(config["persist_docs"]),
        is_contract=config["contract"]["enforced"],
        own_by=tuple(own.get("by", ())),
        own_new_ones=bool(own.get("new_ones")),
        for_district=bool(config["meta"].get("district")),
        frozen=_frozen(config["meta"].get("frozen"), _inputs(node, names)),
        by_semester=_by_semester(
            config["meta"].get("by_semester"), _inputs(node, names), names[node["unique_id"]]
        ),
        by_school=config["meta"].get("grain") != "all",
        semester_inputs=_named(config["meta"].get("semester_inputs", ()), _inputs(node, names)),
    )


def _frozen(meta: Mapping[str, Any] | None, inputs: Sequence[str]) -> Frozen | None:
    """Parse `meta.frozen` of a yml."""
    return None if meta is None else Frozen(_reads(meta["reads"], inputs), tuple(meta.get("apart", ())))


def _by_semester(
    meta: Mapping[str, Any] | None, inputs: Sequence[str], model: str
) -> Mapping[str, Narrowed] | None:
    """Parse `meta.by_semester` of a yml. Raises ModelsBroken if it does not name every input."""
    if meta is None:
        return None
    reads = _reads(meta, inputs)
    if missing := set(inputs) - reads.keys():
        raise ModelsBroken(f"{model}: meta.by_semester does not name {', '.join(sorted(missing))}")
    return reads


def _named(short_names: Sequence[str], inputs: Sequence[str]) -> tuple[str, ...]:
    """The inputs that a yml names without their schema."""
    full_names = _full_names(inputs)
    return tuple(full_names[name] for name in short_names)


def _full_names(inputs: Sequence[str]) -> dict[str, str]:
    return {name.partition(".")[2]: name for name in inputs}


def _reads(meta: Mapping[str, Any], inputs: Sequence[str]) -> dict[str, Narrowed]:
    """The parts of inputs that a yml names, without their schema."""
    full_names = _full_names(inputs)
    reads = dict[str, Narrowed]()
    for name, part in meta.items():
        semester_of = part.get("semester_of")
        reads[full_names[name]] = Narrowed(
            tuple(part["columns"]),
            part.get("where", ""),
            (full_names[semester_of["table"]], semester_of["by"]) if semester_of else None,
        )
    return reads


def _check(node: Mapping[str, Any], names: Mapping[str, str]) -> Check:
    config = node["config"]
    inputs = _inputs(node, names)
    attached = node.get("attached_node")
    return Check(
        name=node["name"],
        of=names[attached] if attached else inputs[0],
        sql=node["compiled_code"],
        inputs=inputs,
        blocks=config["severity"] == "error",
        keeps=f"{node['schema']}.{node['alias']}" if config["store_failures"] else None,
        words=node.get("description") or "",
    )


def _inputs(node: Mapping[str, Any], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[key] for key in node["depends_on"].get("nodes", ())))
