"""The work of `campus thresholds`: shows what the home's own thresholds would change in the published data.

It rebuilds the models that use thresholds in a copy of the published file, with the code of a build, and
deletes the copy."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from exports.library.words import labels
from pipelines.cli.terminal.display import USAGE, complain, console, fail, print_line, show
from pipelines.publication.published_file import why_unreadable
from pipelines.resources import build_of
from pipelines.settings.settings import Settings
from pipelines.thresholds.back_test import HEADINGS, back_test_rows, pending_rows
from pipelines.thresholds.back_test import TITLE as BACK_TEST
from pipelines.thresholds.decisions import COLUMNS as DECISIONS
from pipelines.thresholds.decisions import NOTE as DECISION_NOTE
from pipelines.thresholds.decisions import decision_rows, decision_title
from warehouse.files import workspace
from warehouse.lake.sql import connect
from warehouse.publish.build import models_version, of_another_version, opened_as_built, versions_of
from warehouse.publish.frozen import FILE as FROZEN_FILE
from warehouse.publish.frozen import FrozenBuild
from warehouse.publish.models.compiled_models import Project, read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.model_runner import Built, Checked, run
from warehouse.publish.models.thresholds import FOLDER, ThresholdsWrong, read_own, with_own
from warehouse.published.reading import Part, opened, parts_of, records
from warehouse.rounding import percent

LEVEL_COUNTS = """
    SELECT semester_name, level, count(*) AS students
    FROM marts.early_warning SEMI JOIN views.shown_semester USING (school_id, semester_id)
    WHERE school_id = $school_id AND has_left IS NOT TRUE GROUP BY ALL
"""
RULES = """
    SELECT indicator, level, limit_value, beyond, among_worst, among_worst_percent, deciding
    FROM marts.early_warning_rule_counts SEMI JOIN views.shown_semester USING (school_id, semester_id)
    WHERE school_id = $school_id
    ORDER BY place, if(worse = 'at_least', -limit_value, limit_value)
"""
SCHOOLS = "SELECT school_id, school_name FROM core.dim_school WHERE NOT is_deleted ORDER BY school_id"


def run_thresholds(settings: Settings, schools: Sequence[int], one_in: int) -> int:
    """Show how many students each rule would flag, and would have flagged. Returns the exit status."""
    names = _names_of_schools(settings, schools)
    if isinstance(names, str):
        return fail(names)
    if why := of_another_version(settings.published):
        return fail(why)
    build = build_of(settings)
    project = read_project(compiled())
    try:
        own = read_own(settings.home, project)
    except ThresholdsWrong as error:
        for problem in error.problems:
            complain(problem)
        return USAGE
    files = (
        ", ".join(f"{file.path.name} ({len(file.rows)} rows)" for file in own) or "none; the defaults apply"
    )
    print_line(f"Own thresholds in {settings.home / FOLDER}: {files}")
    for part in parts_of(settings.published, schools or list(names)):
        with workspace(settings.home / "trials") as scratch:
            trial = scratch / build.file.name
            if why := _show_part(part, trial, with_own(project, own, scratch / "seeds"), names, one_in):
                return fail(why)
    in_force = versions_of(settings.published) == {models_version(settings.home)}
    next_step = "Nothing was published. `campus build`, or the next sync, puts these thresholds in force."
    print_line("These thresholds are in force." if in_force else next_step)
    return 0


def _names_of_schools(settings: Settings, schools: Sequence[int]) -> dict[int, str] | str:
    """The schools of the published file by id; or why it cannot be used, or lacks one of `schools`."""
    if problem := why_unreadable(settings.published):
        return problem
    with opened(settings.published) as con:
        names = dict(con.execute(SCHOOLS).fetchall())
    if unknown := set(schools) - names.keys():
        return f"the published file has no school {', '.join(map(str, sorted(unknown)))}"
    return names


def _show_part(
    part: Part, trial: Path, project: Project, names: Mapping[int, str], one_in: int
) -> str | None:
    """Show the schools of one published file. `trial`: the path for its copy. Returns a problem, or None."""
    shutil.copy(part.file, trial)
    trial.chmod(0o600)
    frozen = FrozenBuild(part.frozen, trial.with_name(FROZEN_FILE)) if part.frozen else None
    with (
        closing(connect(trial, scratch=trial.parent / "spill")) as rebuilt,
        opened_as_built(part.file, trial.parent / "spill") as published,
    ):
        if problem := _rebuild(rebuilt, published, project, frozen):
            return problem
        for school_id in part.schools:
            _show(school_id, names[school_id], published, rebuilt)
            _show_back_test(school_id, published, rebuilt, one_in)
    return None


def _rebuild(
    con: duckdb.DuckDBPyConnection,
    published: duckdb.DuckDBPyConnection,
    project: Project,
    frozen: FrozenBuild | None,
) -> str | None:
    """Rebuild the models that use seeds. Returns a problem, or None."""
    for done in run(con, project, (), seeds_anew=True, previous=published, frozen=frozen):
        if isinstance(done, Built) and done.problem:
            return f"{done.model.name}: {done.problem}"
        if isinstance(done, Checked) and done.forbids:
            return f"{done.check.name}: {done.message}"
    return None


def _show(
    school_id: int, name: str, published: duckdb.DuckDBPyConnection, rebuilt: duckdb.DuckDBPyConnection
) -> None:
    before, after = (_levels(con, school_id) for con in (published, rebuilt))
    console.print()
    show(
        f"School {school_id} {name}: students by level",
        ["level", "published", "now"],
        [
            [words.en, _share(before, level), _share(after, level)]
            for level, words in labels("levels").items()
        ],
    )
    was = {(row["indicator"], row["level"]): row for row in _rules(published, school_id) if row["level"]}
    rules = _rules(rebuilt, school_id)
    show(
        "",
        ["indicator", "level", "limit", "flagged", "%", "decisive", "published", "other limits: flagged"],
        [_rule(row, was.get((row["indicator"], row["level"])), rules) for row in rules if row["level"]],
    )


def _show_back_test(
    school_id: int, published: duckdb.DuckDBPyConnection, rebuilt: duckdb.DuckDBPyConnection, one_in: int
) -> None:
    """Show what happened later to those whom the rules would have flagged in the last closed semester."""
    rows = back_test_rows(published, rebuilt, school_id)
    if rows:
        show(BACK_TEST, HEADINGS, rows)
    if pending := pending_rows(rebuilt, school_id, rows):
        show(
            "Back-test: not possible yet",
            ["outcome", "semester", "status", "weeks until it is possible"],
            pending,
        )
    if decisions := decision_rows(published, rebuilt, school_id, one_in):
        show(decision_title(one_in), DECISIONS, decisions)
        print_line(DECISION_NOTE)


def _rule(
    row: Mapping[str, Any], was: Mapping[str, Any] | None, rules: Sequence[Mapping[str, Any]]
) -> list[str | int | Decimal | None]:
    others = [
        _flagged(rule)
        for rule in rules
        if row["level"] == "warning" and rule["indicator"] == row["indicator"] and not rule["level"]
    ]
    return [
        labels("indicators")[row["indicator"]].en,
        labels("levels")[row["level"]].en,
        _plain(row["limit_value"]),
        row["among_worst"],
        row["among_worst_percent"],
        row["deciding"],
        _flagged(was) if was else "-",
        ", ".join(others),
    ]


def _flagged(rule: Mapping[str, Any]) -> str:
    students = "not known" if rule["among_worst"] is None else rule["among_worst"]
    return f"{_plain(rule['limit_value'])}: {students}"


def _levels(con: duckdb.DuckDBPyConnection, school_id: int) -> dict[str, int]:
    return {row["level"]: row["students"] for row in records(con, LEVEL_COUNTS, {"school_id": school_id})}


def _rules(con: duckdb.DuckDBPyConnection, school_id: int) -> list[dict[str, Any]]:
    return records(con, RULES, {"school_id": school_id})


def _share(levels: Mapping[str, int], level: str) -> str:
    whole = sum(levels.values())
    return f"{levels.get(level, 0)} ({percent(levels.get(level, 0), whole)}%)" if whole else "-"


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"
