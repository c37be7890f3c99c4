"""The published file as an assistant sees it, and one query on it under limits."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb

from exports.extracts.names import blanked, labels_that_name, names_of_people
from exports.suppression import shown
from pipelines.assistant.statements import FUNCTIONS, Refused, check_statement
from pipelines.measures import Filter, Unanswerable, measured
from pipelines.settings.options import AssistantOptions
from warehouse.identifiers import literal, quoted, relation
from warehouse.privacy import PERSONAL
from warehouse.publish.audiences import VisibleTable, visible_tables
from warehouse.published.audiences import Audience
from warehouse.published.reading import Config, opened_shards
from warehouse.published.shards import Published

#: The database with the views that an assistant may read.
DATABASE = "assistant"
SCHEMAS = ("core", "marts", "quality")
#: The classes of columns that are absent. Traits of single people would rebuild the numbers of small groups.
HIDDEN = PERSONAL | {"trait"}
#: Columns of class `plain` whose texts a school can write into its seeds, without the language at their end.
SEEDED = ("band", "tier", "attendance_tier", "discrimination_label", "chronic_profiles", "absences_left_by")
#: Columns of `quality`, which have no class, with names that the platform gives, or with messages about them.
QUALITY_TEXTS = ("resource", "slice", "key", "unseen", "message")
TEXTS = ("VARCHAR", "VARCHAR[]")
LABELS = """
    SELECT schema_name || '.' || table_name, column_name FROM campus.quality.dictionary
    WHERE schema_name = 'quality' AND list_contains($quality, column_name)
        OR privacy = 'label'
        OR privacy = 'plain' AND list_contains($seeded, regexp_replace(column_name, '_(en|zh)$', ''))
"""
#: Nothing outside the database can be read, and nobody can change that.
LOCKED = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
TYPES = """
    SELECT schema_name || '.' || table_name, column_name, data_type
    FROM duckdb_columns() WHERE database_name = 'campus'
"""
KEYWORDS = "SELECT keyword_name FROM duckdb_keywords() UNION SELECT type_name FROM duckdb_types()"
#: The entries of the dictionary about what an assistant sees.
DICTIONARY = """
    CREATE TABLE assistant.quality.visible_entries AS
    SELECT entry.* FROM campus.quality.dictionary AS entry
    SEMI JOIN (
        SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE database_name = 'assistant'
        UNION ALL
        SELECT schema_name, view_name, NULL FROM duckdb_views() WHERE database_name = 'assistant'
    ) AS visible
    ON entry.schema_name = visible.schema_name AND entry.table_name = visible.table_name
        AND entry.column_name IS NOT DISTINCT FROM visible.column_name
"""


@dataclass(frozen=True)
class Session:
    """A connection to what an assistant may see. `tables`: their columns, by `schema.table`."""

    con: duckdb.DuckDBPyConnection
    options: AssistantOptions
    tables: Mapping[str, list[str]]
    #: On the whole published file, for the server's own measures alone.
    whole: duckdb.DuckDBPyConnection
    #: The words of statements that name no person: names of tables and columns, functions, and SQL's own.
    vocabulary: frozenset[str]
    #: Labels that hold the name or the number of a person, which are null.
    naming: frozenset[str]

    def ask(self, statement: str) -> dict[str, Any]:
        """The columns and rows of one SELECT. Raises Refused, also for one that takes too much."""
        with self.limited(self.con):
            check_statement(self.con, statement, self.tables)
            result = self.con.execute(statement)
            columns = [name for name, *_ in result.description or ()]
            return self._first(columns, result.fetchmany(self.options.rows + 1))

    def measure(
        self,
        name: str,
        by: Sequence[str],
        days: Mapping[str, date],
        schools: Collection[int],
        filters: Sequence[Filter],
        order: Sequence[str],
        limit: int | None,
    ) -> dict[str, Any]:
        """The columns and rows of a measure of the catalogue.

        Args:
            by, days, schools, filters: As those of pipelines.measures.measured.
            order: Columns to sort by, the first one first; with a minus before it, the greatest value first.
            limit: Rows of the answer; None: as the settings say.

        Raises Refused."""
        with self.limited(self.whole):
            columns, rows = measured(
                self.whole, name, by, days, schools, filters, personal=self.options.personal
            )
        for key in reversed(order):
            column = key.removeprefix("-")
            if column not in columns:
                raise Refused(f"the answer has no column {column} to sort by, only: {', '.join(columns)}")
            index, is_descending = columns.index(column), key.startswith("-")
            # Numbers that are hidden do not show by where their rows stand.
            known_rows = [row for row in rows if row[index] is not None]
            hidden_rows = [row for row in rows if row[index] is None]
            rows = sorted(known_rows, key=itemgetter(index), reverse=is_descending) + hidden_rows
        screened = [[None if value in self.naming else value for value in row] for row in rows[:limit]]
        return self._first(columns, screened)

    def rows(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """The rows of a query of the server's own."""
        result = self.con.execute(query, parameters)
        names = [name for name, *_ in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def _first(self, columns: list[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        most = self.options.rows
        cut = [f"rows beyond {most}"] if len(rows) > most else []
        return {"columns": columns, "rows": list(map(list, rows[:most])), "cut": cut}

    @contextmanager
    def limited(self, con: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """End what takes longer than it may. Raises Refused for it, and for each error of DuckDB."""
        alarm = threading.Timer(self.options.seconds, con.interrupt)
        alarm.start()
        try:
            yield
        except duckdb.InterruptException as error:
            raise Refused(
                f"the query took longer than {self.options.seconds} seconds: ask for less"
            ) from error
        except duckdb.OutOfMemoryException as error:
            raise Refused("the query needs more memory than it may have: ask for less") from error
        except (duckdb.Error, Unanswerable) as error:
            raise Refused(str(error)) from error
        finally:
            alarm.cancel()


@contextmanager
def session(published: Published, options: AssistantOptions) -> Iterator[Session]:
    """Open the published file with the tables and columns that an assistant may see.

    Unless `options.personal`, columns of the classes HIDDEN and of no class are absent, and rows of guardians
    too; labels that hold the name or number of a person are null. Numbers of rows about few people are null.
    Raises duckdb.Error, FileNotFoundError,
    PublicationBroken."""
    config: Config = {"memory_limit": options.memory_limit, "threads": 2, "temp_directory": ""}
    with _attached(published, config) as con:
        without = frozenset[str]() if options.personal else HIDDEN
        tables = list(visible_tables(con, Audience(DATABASE, Path(), SCHEMAS, without)))
        types = defaultdict[str, dict[str, str]](dict)
        for name, column, data_type in con.execute(TYPES).fetchall():
            types[name][column] = data_type
        naming = {} if options.personal else _naming_labels(con, tables, types)
        con.execute(f"ATTACH ':memory:' AS {DATABASE}")
        for schema in SCHEMAS:
            con.execute(f"CREATE SCHEMA {DATABASE}.{schema}")
        visible: dict[str, list[str]] = {}
        for table in tables:
            full = f"{table.schema}.{table.name}"
            visible[full] = list(table.columns)
            columns = ", ".join(shown({name: types[full][name] for name in table.columns}))
            screened = ", ".join(
                f"{blanked(name, types[full][name].endswith('[]'), values)} AS {quoted(name)}"
                for name, values in naming.get(full, {}).items()
            )
            replaced = f"REPLACE ({screened})" if screened else ""
            con.execute(
                f"CREATE VIEW {DATABASE}.{relation(full)} AS SELECT {columns} "
                f"FROM (SELECT * {replaced} FROM campus.{relation(full)} WHERE {table.condition})"
            )
        con.execute(DICTIONARY)
        con.execute(f"DROP VIEW {DATABASE}.quality.dictionary")
        con.execute(f"ALTER TABLE {DATABASE}.quality.visible_entries RENAME TO dictionary")
        whole = con.cursor()
        whole.execute("USE campus")
        con.execute(f"USE {DATABASE}")
        for name, value in LOCKED.items():
            con.execute(f"SET {name} = {value}")
        names = {word for table, columns in visible.items() for word in (*table.split("."), *columns)}
        keywords = {word for (word,) in whole.execute(KEYWORDS).fetchall()}
        vocabulary = frozenset(word.lower() for word in names | keywords | FUNCTIONS)
        naming_values = (values for columns in naming.values() for values in columns.values())
        yield Session(con, options, visible, whole, vocabulary, frozenset().union(*naming_values))


def _naming_labels(
    con: duckdb.DuckDBPyConnection, tables: Sequence[VisibleTable], types: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, list[str]]]:
    """By table and column, the labels that hold the name or the number of a person."""
    con.execute("USE campus")
    names = names_of_people(con)
    columns_of = {f"{table.schema}.{table.name}": table.columns for table in tables}
    naming = defaultdict[str, dict[str, list[str]]](dict)
    labels = con.execute(LABELS, {"quality": QUALITY_TEXTS, "seeded": SEEDED}).fetchall()
    for table, column in labels:
        if column not in columns_of.get(table, ()) or types[table][column] not in TEXTS:
            continue
        is_list = types[table][column].endswith("[]")
        if values := labels_that_name(con, relation(table), column, names, is_list=is_list):
            naming[table][column] = values
    return naming


@contextmanager
def _attached(published: Published, config: Config) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the published file as the database `campus`, where other databases may be made."""
    if isinstance(published, Path):
        with closing(duckdb.connect(config=dict(config))) as con:
            con.execute(f"ATTACH {literal(str(published))} AS campus (READ_ONLY)")
            yield con
    else:
        with opened_shards(published, config) as (con, _):
            yield con
