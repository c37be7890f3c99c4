"""Compares the loaded rows of a contender with the platform's."""

import json
import sys
from dataclasses import asdict, dataclass
from decimal import Decimal

from benchmarks.datasets.source import connect, headers, pages

SUMS = """
    SELECT count(*), sum(id), sum(rank), sum(CAST(score AS DECIMAL(18, 2))), count(remark),
           sum(length(student_name)) + sum(length(student_no)), count(*) FILTER (passed), max(id) FROM
"""
LAST = 10**12  # beyond all ids
CENT = Decimal("0.01")


@dataclass(frozen=True)
class Sums:
    """The compared sums, as text, so that JSON keeps them exactly."""

    rows: str
    ids: str
    ranks: str
    scores: str
    remarks: str
    names: str
    passed: str
    last_id: str


def truth(rows: int) -> Sums:
    """The sums of the platform's first `rows` rows (whole pages), computed in plain Python."""
    count = ids = ranks = remarks = names = passed = last_id = 0
    scores = Decimal(0)
    with connect(headers()) as client:
        for body in pages(client, 1, LAST):
            for row in json.loads(body):
                ids, ranks, last_id = ids + row["id"], ranks + row["rank"], row["id"]
                scores += Decimal(row["score"] or 0)
                remarks += row["remark"] is not None
                names += len(row["student_name"]) + len(row["student_no"] or "")
                passed += row["passed"]
                count += 1
            if count >= rows:
                break
    sums = (count, ids, ranks, scores.quantize(CENT), remarks, names, passed, last_id)
    return Sums(*map(str, sums))


def loaded(database: str, relation: str) -> Sums:
    """The sums of the loaded rows."""
    import duckdb  # `truth` does not need it

    with duckdb.connect(database, read_only=database != ":memory:") as connection:
        return Sums(*map(str, connection.execute(SUMS + relation).fetchone() or ()))


def main() -> None:
    """`python -m benchmarks.datasets.check truth ROWS` or `… loaded DATABASE RELATION`; prints JSON."""
    arguments = sys.argv[2:]
    sums = truth(int(arguments[0])) if sys.argv[1] == "truth" else loaded(arguments[0], arguments[1])
    print(json.dumps(asdict(sums)))


if __name__ == "__main__":
    main()
