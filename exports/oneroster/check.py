"""Checks the files of OneRoster before they are written: required fields, values, references, periods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import duckdb

from exports.oneroster.standard import OneRosterField, OneRosterFile
from warehouse.identifiers import literal, quoted

#: The rows that a problem names.
EXAMPLES = 5
#: Resources without which a bulk export would lack people and classes, so that the receiver removes them.
ROSTER = ("students", "teachers", "admin_classes", "classes", "class_members")
#: Resources without which the files of marks would lack marks.
MARKS = ("assessments", "assessment_items", "scores", "grades")
NO_SEMESTER = """
    SELECT unnest($schools) AS school_id EXCEPT SELECT school_id FROM oneroster.academic_sessions
    ORDER BY school_id
"""
NEVER_LOADED = """
    SELECT school_id, string_agg(DISTINCT resource, ', ' ORDER BY resource)
    FROM core.never_loaded AS never
    SEMI JOIN oneroster.academic_sessions AS sessions
        ON sessions."sourcedId" = never.school_id || '-semester-' || never.semester_id
    WHERE list_contains($schools, school_id) AND list_contains($roster, resource)
    GROUP BY school_id ORDER BY school_id
"""
#: Who mends a problem, and how.
Mender = Literal["school", "operator"]
MENDERS: dict[Mender, str] = {
    "school": "The school corrects on the platform, before the next load",
    "operator": "The operator loads again (campus sync --full), and reports what stays",
}


#: The mender, the reason, and the query for rows that break a rule.
Rule = tuple[Mender, str, str]


class OneRosterRefused(Exception):
    """Files that would break the standard. The message lists what is missing."""


@dataclass(frozen=True)
class RosterProblem:
    """Why files are refused."""

    mender: Mender
    text: str


def table_of(file: str) -> str:
    """The quoted temporary table with the rows of a file."""
    return quoted(f"oneroster_{file}")


def refuse_incomplete(con: duckdb.DuckDBPyConnection, schools: Sequence[int], *, marks: bool) -> None:
    """Check what the views stand on. `marks`: the files of marks are written, too.

    Raises OneRosterRefused."""
    without = con.execute(NO_SEMESTER, {"schools": schools}).fetchall()
    never = con.execute(
        NEVER_LOADED, {"schools": schools, "roster": [*ROSTER, *(MARKS if marks else ())]}
    ).fetchall()
    _refuse(
        [
            *(RosterProblem("school", f"school {school}: no semester is current") for (school,) in without),
            *(
                RosterProblem("operator", f"school {school}: never loaded: {names}")
                for school, names in never
            ),
        ]
    )


def refuse_broken(con: duckdb.DuckDBPyConnection, files: Mapping[str, OneRosterFile]) -> None:
    """Check the rows of files (tables of `table_of`). Raises OneRosterRefused."""
    problems = []
    for mender, rule, rows in (rule for file in files for rule in _rules(file, files)):
        [(count, ids)] = con.execute(
            f'SELECT count(*), coalesce(min("sourcedId", {EXAMPLES}), []) FROM ({rows})'
        ).fetchall()
        if count:
            named = ", ".join(ids) + (", …" if count > len(ids) else "")
            text = f"{rule}, {count:,} {'row' if count == 1 else 'rows'}: {named}"
            problems.append(RosterProblem(mender, text))
    _refuse(problems)


def _refuse(problems: Sequence[RosterProblem]) -> None:
    if not problems:
        return
    lines = ["nothing was written, since the files would be incomplete or break the standard."]
    for mender, title in MENDERS.items():
        texts = [f"  {problem.text}" for problem in problems if problem.mender == mender]
        lines += [f"{title}:", *texts] if texts else []
    raise OneRosterRefused("\n".join(lines))


def _rules(file: str, files: Mapping[str, OneRosterFile]) -> Iterator[Rule]:
    standard, table = files[file], table_of(file)
    twice = f'SELECT "sourcedId" FROM {table} GROUP BY ALL HAVING count(*) > 1'
    yield "operator", f"{file}.csv: sourcedId is there twice", twice
    for name, field in standard.fields.items():
        for mender, reason, rows in _field_rules(name, field, table, files):
            yield mender, f"{file}.csv: {name} {reason}", rows
    if standard.period is not None:
        begins, ends = standard.period
        rows = f'SELECT "sourcedId" FROM {table} WHERE {quoted(ends)} <= {quoted(begins)}'
        yield "school", f"{file}.csv: {ends} is not after {begins}", rows


def _field_rules(
    name: str, field: OneRosterField, table: str, files: Mapping[str, OneRosterFile]
) -> Iterator[Rule]:
    rows, column = f'SELECT "sourcedId" FROM {table} WHERE', quoted(name)
    if field.required:
        is_text = not field.to and name != "sourcedId"
        yield "school" if is_text else "operator", "is empty", f"{rows} {column} IS NULL"
    if field.values:
        listed = ", ".join(map(literal, field.values))
        yield "operator", f"is none of {', '.join(field.values)}", f"{rows} {column} NOT IN ({listed})"
    if field.pattern:
        matches = f"regexp_full_match({column}, {literal(field.pattern)})"
        yield "operator", "has another format", f"{rows} NOT {matches}"
    if field.to:
        value = f"unnest(string_split({column}, ','))" if field.is_list else column
        lacking = f'SELECT DISTINCT "sourcedId" FROM (SELECT "sourcedId", {value} AS id FROM {table})'
        if field.to in files:
            lacking += f' ANTI JOIN (SELECT "sourcedId" AS id FROM {table_of(field.to)}) USING (id)'
        yield "operator", f"names nothing in {field.to}.csv", f"{lacking} WHERE id IS NOT NULL"
