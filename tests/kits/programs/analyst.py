"""What an analyst does all day, as a process of its own: `python analyst.py FILE STOP`.

Opens the published file again and again until STOP exists, and prints each state that it saw as a JSON line:
the schools' name and the names of all teachers, which a platform changes together."""

import json
import sys
import time
from pathlib import Path

import duckdb

QUERY = """
    SELECT
        (SELECT string_agg(DISTINCT name, ',') FROM raw.schools),
        (SELECT string_agg(DISTINCT name, ',') FROM raw.teachers WHERE _deleted_at IS NULL),
        (SELECT string_agg(DISTINCT teacher_name, ',') FROM core.dim_teacher)
"""

if __name__ == "__main__":
    file, stop = sys.argv[1], Path(sys.argv[2])
    last = None
    reads = 0
    while not stop.exists():
        time.sleep(0.05)
        with duckdb.connect(file, read_only=True) as connection:
            seen = connection.execute(QUERY).fetchone()
        reads += 1
        if seen != last:
            sys.stdout.write(json.dumps(seen, ensure_ascii=False) + "\n")
            last = seen
    sys.stdout.write(json.dumps(reads) + "\n")
