"""The command `campus thresholds`: what the home's own thresholds would make of the published data.

The models that stand on a threshold are built anew in a copy of the published file, by the very code that a
build runs; the copy is thrown away."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from exports.source import records
from exports.workbooks.queries import SHOWN
from exports.workbooks.terms import INDICATORS, LEVELS
from pipelines.cli.display import USAGE, complain, console, show
from pipelines.resources import build_of
from pipelines.settings import Settings
from warehouse.files import workspace
from warehouse.lake.sql import connect
from warehouse.publish.build import models_version, of_another_version, versions_of
from warehouse.publish.compiled_models import Project, read_project
from warehouse.publish.dbt_project import compiled
from warehouse.publish.frozen import FILE as FROZEN_FILE
from warehouse.publish.frozen import FrozenBuild
from warehouse.publish.model_runner import Built, Checked, run
from warehouse.publish.thresholds import FOLDER, ThresholdsWrong, read_own, with_own
from warehouse.published.reading import Part, opened, parts_of

LEVEL_COUNTS = f"""
    WITH {SHOWN}
    SELECT semester_name, level, count(*) AS students
    FROM marts.early_warning JOIN shown USING (school_id, semester_id, semester_name)
    WHERE has_left IS NOT TRUE GROUP BY ALL
"""
RULES = f"""
    WITH {SHOWN}
    SELECT indicator, level, limit_value, beyond, among_worst, among_worst_percent, deciding
    FROM marts.early_warning_rule_counts JOIN shown USING (school_id, semester_id, semester_name)
    ORDER BY place, if(worse = 'at_least', -limit_value, limit_value)
"""
SCHOOLS = "SELECT school_id, school_name FROM core.dim_school WHERE NOT is_deleted ORDER BY school_id"


def run_thresholds(settings: Settings, schools: Sequence[int]) -> int:
    """Show how many students each rule would flag. The exit status."""
    if not settings.published.exists():
        complain(f"{settings.published} is not there yet: run `campus sync`")
        return 1
    if problem := of_another_version(settings.published):
        complain(problem)
        return 1
    build = build_of(settings)
    project = read_project(compiled())
    try:
        own = read_own(settings.home, project)
    except ThresholdsWrong as error:
        for each in error.problems:
            complain(each)
        return USAGE
    told = ", ".join(f"{one.path.name}, rows: {len(one.rows)}" for one in own) or "none, so the defaults"
    console.print(f"Own thresholds in {settings.home / FOLDER}: {told}", markup=False, soft_wrap=True)
    with opened(settings.published) as con:
        known = dict(con.execute(SCHOOLS).fetchall())
    if unknown := set(schools) - known.keys():
        complain(f"the published file has no school {', '.join(map(str, sorted(unknown)))}")
        return 1
    for part in parts_of(settings.published, schools or list(known)):
        with workspace(settings.home / "trials") as scratch:
            trial = scratch / build.file.name
            if problem := _show_part(part, trial, with_own(project, own, scratch / "seeds"), known):
                complain(problem)
                return 1
    in_force = versions_of(settings.published) == {models_version(settings.home)}
    then = "Nothing was published. `campus build`, or the next sync, puts these thresholds in force."
    console.print("These thresholds are in force." if in_force else then, soft_wrap=True)
    return 0


def _show_part(part: Part, trial: Path, project: Project, names: Mapping[int, str]) -> str | None:
    """Show the schools of a part of what is published, of whose file `trial` becomes a copy. What stands in
    the way; None: nothing."""
    shutil.copy(part.file, trial)
    trial.chmod(0o600)
    frozen = FrozenBuild(part.frozen, trial.with_name(FROZEN_FILE)) if part.frozen else None
    with (
        closing(connect(trial, scratch=trial.parent / "spill")) as tried,
        closing(duckdb.connect(str(part.file), read_only=True)) as published,
    ):
        if problem := _try(tried, project, frozen):
            return problem
        for school_id in part.schools:
            _show(school_id, names[school_id], published, tried)
    return None


def _try(con: duckdb.DuckDBPyConnection, project: Project, frozen: FrozenBuild | None) -> str | None:
    """Make anew what stands on a seed. What stands in the way of it; None: nothing."""
    for done in run(con, project, (), seeds_anew=True, frozen=frozen):
        if isinstance(done, Built) and done.problem:
            return f"{done.model.name}: {done.problem}"
        if isinstance(done, Checked) and done.forbids:
            return f"{done.check.name}: {done.message}"
    return None


def _show(
    school_id: int, name: str, published: duckdb.DuckDBPyConnection, tried: duckdb.DuckDBPyConnection
) -> None:
    before, after = (_levels(con, school_id) for con in (published, tried))
    console.print()
    show(
        f"School {school_id} {name}: students by level",
        ["level", "published", "now"],
        [[words.en, _share(before, level), _share(after, level)] for level, words in LEVELS.items()],
    )
    was = {(row["indicator"], row["level"]): row for row in _rules(published, school_id) if row["level"]}
    rules = _rules(tried, school_id)
    show(
        "",
        ["indicator", "level", "limit", "flagged", "%", "decisive", "published", "other limits: flagged"],
        [_rule(row, was.get((row["indicator"], row["level"])), rules) for row in rules if row["level"]],
    )


def _rule(
    row: Mapping[str, Any], was: Mapping[str, Any] | None, rules: Sequence[Mapping[str, Any]]
) -> list[str | int | Decimal | None]:
    others = [
        _flagged(one)
        for one in rules
        if row["level"] == "warning" and one["indicator"] == row["indicator"] and not one["level"]
    ]
    return [
        INDICATORS[row["indicator"]].en,
        LEVELS[row["level"]].en,
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
    return f"{levels.get(level, 0)} ({100 * levels.get(level, 0) / whole:.1f}%)" if whole else "-"


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"
