"""Reads from the compiled SQL which columns each column of a model is made of.

sqlglot, which parses the SQL, is a tool of developers: `make models` stores the result beside the SQL."""

from collections.abc import Iterator, Mapping

from sqlglot import exp, parse_one
from sqlglot.lineage import lineage
from sqlglot.optimizer import build_scope
from sqlglot.optimizer.qualify import qualify

from loading.tables import TABLES
from warehouse.lake.logs.tables import LOGS, MADE
from warehouse.lake.tables import BOOKKEEPING, SCHOOL_ID
from warehouse.publish.models.compiled_models import Model, Project

DIALECT = "duckdb"


def lineage_of(project: Project) -> dict[str, dict[str, list[str]]]:
    """By model (`schema.table`) and column, the direct sources: schema.table.column or, of a count of rows or
    a whole row, schema.table. Empty: the value is a constant.

    A source gives values. Columns that only join or filter rows are none."""
    columns = {
        f"raw.{table.name}": [column.name for column in (*table.columns, SCHOOL_ID, *BOOKKEEPING)]
        for table in TABLES.values()
    }
    columns |= {f"quality.{log.name}": [column.name for column in log.columns] for log in (*LOGS, *MADE)}
    sources = {}
    for model in project.models:
        if model.kind == "seed":
            columns[model.name] = [column.name for column in model.columns]
        else:
            sources[model.name] = _sources(model, columns)
            columns[model.name] = list(sources[model.name])
    return sources


def _sources(model: Model, columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    schema: dict[str, dict[str, dict[str, str]]] = {}
    for name in model.inputs:
        folder, _, table = name.partition(".")
        schema.setdefault(folder, {})[table] = dict.fromkeys(columns[name], "unknown")
    query = parse_one(model.sql, dialect=DIALECT)
    _name_unnested(query)
    _simplify_windows(query)
    query = qualify(
        query, dialect=DIALECT, schema={"campus": schema}, validate_qualify_columns=False, identify=False
    )
    _order_by_name(query)
    nodes = lineage(
        None, query, {"campus": schema}, dialect=DIALECT, scope=build_scope(query), trim_selects=False
    )
    parts = {part.alias: part.this for part in query.find_all(exp.CTE)}
    result = {}
    for column, node in nodes.items():
        origins = set[str]()
        for step in node.walk():
            part = step.expression
            if isinstance(part, exp.Table) and part.db:
                name = step.name.rpartition(".")[2]
                origins.add(f"{part.db}.{part.name}" + ("" if name == "*" else f".{name}"))
            # A count of rows, or a whole row as a value.
            elif part.find(exp.TableColumn) or any(count.this.is_star for count in part.find_all(exp.Count)):
                origins.update(_counted(step.source, parts))
        result[column] = sorted(origins)
    return result


def _counted(query: exp.Expr, parts: Mapping[str, exp.Expr]) -> Iterator[str]:
    """The tables whose rows a query is made of: those after FROM, without those that are joined."""
    if isinstance(query, exp.Subquery):
        yield from _counted(query.this, parts)
    elif isinstance(query, exp.SetOperation):
        yield from _counted(query.left, parts)
        yield from _counted(query.right, parts)
    elif isinstance(query, exp.Table):
        if query.db:
            yield f"{query.db}.{query.name}"
        elif query.name in parts:
            yield from _counted(parts[query.name], parts)
    elif isinstance(query, exp.Select) and query.args.get("from_"):
        yield from _counted(query.args["from_"].this, parts)


def _simplify_windows(query: exp.Expr) -> None:
    """Write named windows where they are used, and leave out groups, which give no values."""
    for select in query.find_all(exp.Select):
        named = {window.name: window for window in select.args.get("windows") or ()}
        for window in select.find_all(exp.Window):
            if window.alias in named and named[window.alias].args.get("order"):
                window.set("order", named[window.alias].args["order"].copy())
            window.set("partition_by", None)


def _name_unnested(query: exp.Expr) -> None:
    """Replace unnest(list of structs, recursive := true), which sqlglot takes for a single column, by a
    column for each field of the structs."""
    for select in query.find_all(exp.Select):
        columns: list[exp.Expr] = []
        for column in select.expressions:
            if not (isinstance(column, exp.Explode) and column.expressions):
                columns.append(column)
                continue
            values = column.this
            if isinstance(values, exp.Column):
                # A list that another part of the query makes, under this name.
                [made] = (alias.this for alias in query.find_all(exp.Alias) if alias.alias == values.name)
                columns += [exp.alias_(values.copy(), name) for name in _fields(made)]
            else:
                fields = _fields(values).items()
                columns += [
                    exp.alias_(exp.Coalesce(this=first, expressions=rest), name)
                    for name, (first, *rest) in fields
                ]
        select.set("expressions", columns)


def _fields(values: exp.Expr) -> dict[str, list[exp.Expr]]:
    """The values of each field in a list of structs."""
    fields: dict[str, list[exp.Expr]] = {}
    for struct in values.find_all(exp.Struct):
        for field in struct.expressions:
            fields.setdefault(field.name, []).append(field.expression.copy())
    return fields


def _order_by_name(query: exp.Expr) -> None:
    """Give both sides of each UNION BY NAME the same columns in the same order, since sqlglot follows
    columns of a union by their place."""
    for union in reversed(list(query.find_all(exp.SetOperation))):
        if not union.args.get("by_name"):
            continue
        sides = (union.left, union.right)
        names = list(dict.fromkeys(name for side in sides for name in side.named_selects))
        for side in sides:
            places = {name: place for place, name in enumerate(side.named_selects)}
            for select in _selects(side):
                own = select.expressions
                select.set(
                    "expressions",
                    [own[places[name]] if name in places else exp.alias_(exp.null(), name) for name in names],
                )
        union.set("by_name", False)


def _selects(side: exp.Expr) -> Iterator[exp.Select]:
    if isinstance(side, exp.SetOperation):
        yield from _selects(side.left)
        yield from _selects(side.right)
    elif isinstance(side, exp.Subquery):
        yield from _selects(side.this)
    elif isinstance(side, exp.Select):
        yield side
