"""Reads from the compiled SQL which columns each column of a model is made of."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from sqlglot import exp, parse_one
from sqlglot.optimizer import build_scope
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope

from warehouse.publish.models.compiled_models import CONDITION, VALUE, Model, Project

DIALECT = "duckdb"
#: The sides of joins that leave out no row for want of a partner.
OUTER = ("LEFT", "RIGHT", "FULL")


@dataclass(frozen=True)
class Sources:
    """Sources of a column: schema.table.column or, of a count of rows or a whole row, schema.table."""

    #: They give its values.
    values: frozenset[str] = frozenset()
    #: They choose the rows that give its values.
    conditions: frozenset[str] = frozenset()


def lineage_of(
    project: Project, lake_columns: Mapping[str, list[str]]
) -> dict[str, dict[str, dict[str, list[str]]]]:
    """By model (`schema.table`), column and kind (VALUE or CONDITION), the direct sources. Without a value,
    the column is a constant. `lake_columns`: the columns of each table (`schema.table`) that no model makes.

    A condition is a column by which the query joins, filters or groups the rows that give the value. An outer
    join counts for the columns that it brings."""
    columns = dict(lake_columns)
    lineage = {}
    for model in project.models:
        if model.kind == "seed":
            columns[model.name] = [column.name for column in model.columns]
        else:
            lineage[model.name] = _lineage_of_model(model, columns)
            columns[model.name] = list(lineage[model.name])
    return lineage


def _lineage_of_model(model: Model, columns: Mapping[str, list[str]]) -> dict[str, dict[str, list[str]]]:
    schema: dict[str, dict[str, dict[str, str]]] = {}
    for name in model.inputs:
        folder, _, table = name.partition(".")
        schema.setdefault(folder, {})[table] = dict.fromkeys(columns[name], "unknown")
    query = parse_one(model.sql, dialect=DIALECT)
    _name_unnested(query)
    _copy_named_windows(query)
    query = qualify(
        query, dialect=DIALECT, schema={"campus": schema}, validate_qualify_columns=False, identify=False
    )
    assert isinstance(query, exp.Query)
    _order_by_name(query)
    scope = build_scope(query)
    # sqlglot folds the case of names.
    names = {
        f"{name}.{column}".lower(): f"{name}.{column}" for name in model.inputs for column in columns[name]
    }
    names |= {column.name.lower(): column.name for column in model.columns}
    lineage = {}
    for column in query.named_selects:
        sources = _of_output(scope, column)
        kinds = {VALUE: sources.values, CONDITION: sources.conditions - sources.values}
        lineage[names.get(column, column)] = {
            kind: sorted(names.get(source, source) for source in kinds[kind]) for kind in kinds if kinds[kind]
        }
    return lineage


@cache
def _of_output(scope: Scope, column: str | int) -> Sources:
    """The sources of a column that a query gives, by its name or its position."""
    query = scope.expression
    if isinstance(query, exp.Subquery):
        [inner] = (*scope.subquery_scopes, *scope.derived_table_scopes)
        return _of_output(inner, column)
    if not isinstance(query, exp.UNWRAPPED_QUERIES):
        # A list that becomes rows.
        return _of_expression(scope, query)
    position = column if isinstance(column, int) else query.named_selects.index(column)
    if isinstance(query, exp.SetOperation):
        return _union(_of_output(side, position) for side in scope.set_operation_scopes)
    value = query.selects[position]
    chosen_by = _union(_of_expression(scope, condition) for condition in _conditions(query, value))
    return _union([_of_expression(scope, value), _as_conditions(chosen_by)])


def _conditions(query: exp.Select, value: exp.Expr) -> Iterator[exp.Expr]:
    """The clauses by which a query chooses the rows that give a value."""
    clauses = ["where", "having", "qualify", "distinct", *(["group"] if value.find(exp.AggFunc) else [])]
    yield from (query.args[clause] for clause in clauses if query.args.get(clause))
    brings = {column.table for column in value.find_all(exp.Column)}
    brings |= {row.name for row in value.find_all(exp.TableColumn)}
    for join in query.args.get("joins") or ():
        if join.args.get("on") and (join.side not in OUTER or join.alias_or_name in brings):
            yield join.args["on"]


def _of_expression(scope: Scope, expression: exp.Expr) -> Sources:
    """The sources of an expression in a query, with those of the queries in it."""
    inner = {id(subquery.expression): subquery for subquery in scope.subquery_scopes}
    groups = {
        id(column)
        for window in expression.find_all(exp.Window)
        for key in window.args.get("partition_by") or ()
        for column in key.find_all(exp.Column)
    }
    sources = []
    for node in expression.walk(prune=lambda node: id(node) in inner):
        if id(node) in inner and isinstance(node, exp.Query):
            sources += [_of_output(inner[id(node)], position) for position in range(len(node.selects))]
        elif isinstance(node, exp.Column):
            of_column = _of_column(scope, node)
            sources.append(_as_conditions(of_column) if id(node) in groups else of_column)
        elif isinstance(node, exp.TableColumn):
            sources.append(Sources(frozenset(_rows_of(scope.sources.get(node.name)))))
        elif isinstance(node, exp.Count) and node.this.is_star:
            sources.append(Sources(frozenset(_rows_of(scope))))
    return _union(sources)


def _of_column(scope: Scope, column: exp.Column) -> Sources:
    """The sources of a column that a query reads, from its tables or from those of the query around it."""
    around: Scope | None = scope
    while around is not None and column.table not in around.sources:
        around = around.parent
    if around is None:
        return Sources()
    source = around.sources[column.table]
    if isinstance(source, Scope):
        return _of_output(source, column.name)
    return Sources(frozenset({f"{source.db}.{source.name}.{column.name}"} if source.db else ()))


def _rows_of(source: Scope | exp.Table | None) -> Iterator[str]:
    """The tables whose rows a source is made of: those after FROM, without those that are joined."""
    if isinstance(source, exp.Table):
        if source.db:
            yield f"{source.db}.{source.name}"
    elif source is not None and isinstance(source.expression, exp.SetOperation):
        for side in source.set_operation_scopes:
            yield from _rows_of(side)
    elif source is not None and source.expression.args.get("from_"):
        yield from _rows_of(source.sources.get(source.expression.args["from_"].this.alias_or_name))


def _union(sources: Iterable[Sources]) -> Sources:
    united = tuple(sources)
    return Sources(
        frozenset().union(*(entry.values for entry in united)),
        frozenset().union(*(entry.conditions for entry in united)),
    )


def _as_conditions(sources: Sources) -> Sources:
    return Sources(conditions=sources.values | sources.conditions)


def _copy_named_windows(query: exp.Expr) -> None:
    """Write named windows where they are used."""
    for select in query.find_all(exp.Select):
        named = {window.name: window for window in select.args.get("windows") or ()}
        for window in select.find_all(exp.Window):
            for clause in ("order", "partition_by") if window.alias in named else ():
                if clauses := named[window.alias].args.get(clause):
                    copies = (
                        clauses.copy() if isinstance(clauses, exp.Expr) else [key.copy() for key in clauses]
                    )
                    window.set(clause, copies)


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
