"""The models and checks of the compiled dbt project as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

from warehouse.identifiers import relation
from warehouse.publish.dbt_project import PROJECT, ModelsBroken, source_of


@dataclass(frozen=True)
class ModelColumn:
    """A column as the model's contract has it; `type`: None where there is no contract."""

    name: str
    type: str | None
    comment: str


@dataclass(frozen=True)
class Narrowed:
    """What the rows of closed semesters are made of, of a table that goes through all semesters: `columns`,
    of its rows in these where it has a semester, and for which `where` holds."""

    columns: tuple[str, ...]
    where: str = ""


@dataclass(frozen=True)
class Frozen:
    """That rows of closed semesters are in the frozen file (frozen.py). `reads`: by input (`schema.table`)
    what they are made of, of those that are not in that file themselves. `apart`: columns whose values are
    each of closed semesters or of open ones, beside the semester."""

    reads: Mapping[str, Narrowed]
    apart: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """A table or view that is made by SQL, or a table of a CSV file.

    `name` and `inputs` are `schema.table`, tables of the lake among the inputs. `kind`: table, view or seed.
    `sql`: a query; of a seed, the path of its file. `source`: as it was written, with Jinja. `columns`: those
    that the yml names, in order. `after`: statements that follow. `documented`: comments are written.
    `is_contract`: the table has just these columns, of these types. `own_by`, `own_new_ones`: of a
    seed, what a home's own rows replace (thresholds.py). `for_district`: district.duckdb has it. `frozen`:
    its rows of closed semesters may be in a file of their own."""

    name: str
    kind: str
    sql: str
    source: str
    comment: str
    columns: tuple[ModelColumn, ...]
    inputs: tuple[str, ...]
    after: tuple[str, ...] = ()
    documented: bool = False
    is_contract: bool = False
    own_by: tuple[str, ...] = ()
    own_new_ones: bool = False
    for_district: bool = False
    frozen: Frozen | None = None

    @property
    def schema(self) -> str:
        return self.name.partition(".")[0]

    @property
    def relation(self) -> str:
        """The quoted name."""
        return relation(self.name)


@dataclass(frozen=True)
class Check:
    """A query that finds the rows which should not be. `of`: the model or source (`schema.table`) that it is
    about. `blocks`: a row stops the publication; else it warns. `keeps`: the table of `quality` that the rows
    are kept in. `words`: what has to hold, for whoever broke it."""

    name: str
    of: str
    sql: str
    inputs: tuple[str, ...]
    blocks: bool
    keeps: str | None
    words: str = ""


@dataclass(frozen=True)
class Project:
    """`models` come after all that they read. `sources`: tables that no model makes, and what they are."""

    models: tuple[Model, ...]
    checks: tuple[Check, ...]
    sources: Mapping[str, str] = field(default_factory=dict)


def read_project(manifest: Mapping[str, Any]) -> Project:
    """The models and checks of a compiled project (`dbt_project.compiled`).

    Raises ModelsBroken where the project uses what the runner of this package does not know."""
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
    graph = {name: [one for one in model.inputs if one in models] for name, model in sorted(models.items())}
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
    after = tuple(hook["sql"] for hook in config["post-hook"])
    if any("{{" in statement for statement in after) or config["pre-hook"]:
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
    )


def _frozen(said: Mapping[str, Any] | None, inputs: Sequence[str]) -> Frozen | None:
    """What the yml says of it, where a model is named without its schema."""
    if said is None:
        return None
    full = {name.partition(".")[2]: name for name in inputs}
    reads = {
        full[name]: Narrowed(tuple(each["columns"]), each.get("where", ""))
        for name, each in said["reads"].items()
    }
    return Frozen(reads, tuple(said.get("apart", ())))


def _check(node: Mapping[str, Any], names: Mapping[str, str]) -> Check:
    config = node["config"]
    if (config["fail_calc"], config["warn_if"], config["error_if"]) != ("count(*)", "!= 0", "!= 0"):
        raise ModelsBroken(f"{node['name']}: a check counts rows, and one is enough to break it")
    inputs = _inputs(node, names)
    attached = node.get("attached_node")
    return Check(
        name=node["name"],
        of=names[attached] if attached else inputs[0],
        sql=node["compiled_code"],
        inputs=inputs,
        blocks=config["severity"].lower() == "error",
        keeps=f"{node['schema']}.{node['alias']}" if config["store_failures"] else None,
        words=node.get("description") or "",
    )


def _inputs(node: Mapping[str, Any], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[key] for key in node["depends_on"].get("nodes", ())))
