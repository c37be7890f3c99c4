"""Run by an older DuckDB: reads every table, view and macro of a published file, and says what it cannot."""

import json
import sys
from pathlib import Path

import duckdb

#: Where the oldest DuckDB is that reads the published file, of tests/old_duckdb.lock.
FOLDER = Path(__file__).parents[3] / ".old-duckdb"
#: What a missing folder means.
MISSING = "no older DuckDB: `make old-duckdb`"

NAMES = """
    SELECT format('"{}"."{}"', schema_name, table_name) FROM duckdb_tables()
    UNION ALL
    SELECT format('"{}"."{}"', schema_name, view_name) FROM duckdb_views() WHERE NOT internal
    UNION ALL
    SELECT format('"{}"."{}"(now()::TIMESTAMP)', schema_name, function_name)
    FROM duckdb_functions()
    WHERE NOT internal AND function_name LIKE '%_as_of'
    UNION ALL
    SELECT format('marts.metric_{}("by" := [''{}''])', metric, array_to_string(dimensions, ''','''))
    FROM quality.metrics
"""

if __name__ == "__main__":
    with duckdb.connect(sys.argv[1], read_only=True) as con:
        names = [name for (name,) in con.execute(NAMES).fetchall()]
        problems = {}
        for name in names:
            try:
                con.execute(f"SELECT count(*), any_value(COLUMNS(*)) FROM {name}").fetchall()
            except duckdb.Error as error:
                problems[name] = str(error)
    report = {"version": duckdb.__version__, "read": len(names) - len(problems), "problems": problems}
    sys.stdout.write(json.dumps(report))
