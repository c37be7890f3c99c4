"""Simulates how often the intervals of the marts hold the truth, and how often their verdicts are false.

    python -m benchmarks.coverage [--worlds 1000] [--models warehouse/dbt]

Each world is a school of made-up students, whose true figures follow from the normal distribution. The SQL of
the marts runs on all worlds of a setting at once, in memory. `--models` takes the dbt project of an earlier
version. Prints tables in Markdown, in percent; five minutes.
"""

import argparse
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from scipy import stats

from pipelines.thresholds.decisions import net_benefit_interval
from warehouse.publish.models.compiler import Compiler
from warehouse.publish.models.dbt_project import PROJECT
from warehouse.publish.models.metric_checks import metric_docs

Array = np.ndarray[Any, np.dtype[Any]]
TABLES = (
    *("early_warning_week", "early_warning_outcome", "early_warning_student", "dim_semester", "dim_student"),
    *("dim_course_class", "bridge_class_teacher", "dim_teacher", "fct_grade", "grade_student_semester"),
)
SEEDS = ("early_warning_rules", "attendance_thresholds", "grade_thresholds")
LEVELS = np.array(["none", "watch", "warning", "at_risk"])
#: Of 100 students without the outcome, 70 have no warning, 15 watch, 10 a warning, and 5 are at risk.
CUTS = np.array([0.524, 1.036, 1.645])
COHORTS = 6


class Worlds:
    """Tables of many schools, and the marts that are made of them."""

    def __init__(self, models: Path) -> None:
        self.nodes = Compiler(models, metric_docs()).compile()["nodes"]
        self.connection = duckdb.connect()
        self.connection.execute("ATTACH ':memory:' AS campus; USE campus")
        self.connection.execute("CREATE SCHEMA core; CREATE SCHEMA marts; CREATE SCHEMA staging")
        for name in TABLES:
            node = self._node(name)
            if node is not None:
                columns = ", ".join(
                    f"{column} {about['data_type']}" for column, about in node["columns"].items()
                )
                self.connection.execute(f"CREATE TABLE {node['schema']}.{name} ({columns})")

    def _node(self, name: str) -> Mapping[str, Any] | None:
        node: Mapping[str, Any] | None = self.nodes.get(f"model.campus.{name}")
        return node

    def fill(self, worlds: int, **tables: dict[str, Any]) -> None:
        """Replace the rows of tables. Each column is an array or a value for all rows."""
        for name in SEEDS:
            seed = PROJECT / "seeds" / f"{name}.csv"
            self.connection.execute(
                f"CREATE OR REPLACE TABLE staging.stg_{name} AS SELECT school AS school_id,"
                f" * EXCLUDE (school_id, school) FROM read_csv('{seed}'), range({worlds}) AS schools (school)"
                " WHERE school_id IS NULL"
            )
        for name, columns in tables.items():
            frame = pl.DataFrame({column: values for column, values in columns.items() if np.ndim(values)})
            frame = frame.with_columns(**{c: pl.lit(v) for c, v in columns.items() if not np.ndim(v)})
            self.connection.register("frame", frame.to_arrow())
            schema = "marts" if name == "grade_student_semester" else "core"
            self.connection.execute(f"DELETE FROM {schema}.{name}")
            self.connection.execute(f"INSERT INTO {schema}.{name} BY NAME FROM frame")

    def build(self, mart: str, condition: str = "true") -> pl.DataFrame:
        """The rows of a mart, as doubles where they are decimals."""
        sql = self.nodes[f"model.campus.{mart}"]["compiled_code"]
        self.connection.execute(f"CREATE OR REPLACE TABLE marts.{mart} AS {sql}")
        rows: pl.DataFrame = self.connection.sql(f"SELECT * FROM marts.{mart} WHERE {condition}").pl()
        return rows.with_columns(pl.selectors.decimal().cast(pl.Float64))


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--models", type=Path, default=PROJECT)
    options = parser.parse_args()
    worlds = Worlds(options.models)
    report_areas(worlds, options.worlds)
    report_flags(worlds, options.worlds)
    report_net_benefit(options.worlds)
    report_groups(worlds, options.worlds)
    report_growth(worlds, options.worlds)
    report_classes(worlds, options.worlds)


def report_areas(worlds: Worlds, number: int) -> None:
    """Areas, their differences, and shares."""
    print(
        "| with the outcome, of 300 | area of the level | of the best indicator | auc of the level"
        " | of the indicator | difference | worse | better | base rate | precision | recall |"
    )
    print("|---" * 11 + "|")
    for expected, shift, lead in (
        *product((20, 40, 80), (0.0, 0.8, 1.6), (0.0,)),
        (40, 0.8, 0.8),
        (80, 0.8, 0.8),
    ):
        base, recall = expected / 300, _recall(shift)
        frames = []
        for is_coarse in (True, False):
            random = np.random.default_rng(expected)
            bases = np.full((number, 300), base)
            _fill_back_test(worlds, random, number, 300, bases, shift, is_coarse, lead=lead)
            frames.append(worlds.build("early_warning_backtest", "outcome = 'failed_next'"))
        level, single = (
            rows.filter(pl.col("rule") == rule)
            for rows, rule in zip(frames, ("level_warning", "attendance_rate"), strict=True)
        )
        judged = level.filter(pl.col("verdict") != "too few")
        areas = _area(shift, True), _area(shift + lead, True)
        cells = [
            *(f"{area:.2f}" for area in areas),
            _coverage(level, "auc", areas[0]),
            _coverage(single, "auc", _area(shift + lead, False)),
            _coverage(level, "auc_difference", areas[0] - areas[1]),
            *(_share(judged["verdict"] == verdict) for verdict in ("worse", "better")),
            _coverage(level, "base_rate", 100 * base),
            _coverage(level, "precision", 100 * _precision(bases, shift)),
            _coverage(level, "recall", 100 * recall),
        ]
        print(f"| {expected} | {' | '.join(cells)} |")


def report_flags(worlds: Worlds, number: int) -> None:
    """Verdicts of flags against chance: false where the shift is none."""
    print(
        "\n| students | with the outcome | shift | level_warning: too few | better | worse"
        " | level_at_risk: too few | better | worse |"
    )
    print("|---" * 9 + "|")
    for students, base, shift in (
        *product((100, 300), (0.15, 0.4), (0.0,)),
        *product((600, 2000), (0.05, 0.2), (0.0,)),
        (300, 0.15, 0.8),
        (600, 0.2, 0.8),
    ):
        random = np.random.default_rng(students)
        bases = np.full((number, students), base)
        _fill_back_test(worlds, random, number, students, bases, shift, True)
        rows = worlds.build("early_warning_backtest", "outcome = 'failed_next'")
        cells = []
        for rule in ("level_warning", "level_at_risk"):
            verdicts = rows.filter(pl.col("rule") == rule)["chance_verdict"]
            judged = verdicts.filter(verdicts != "too few")
            cells += [
                _share(verdicts == "too few"),
                *(_share(judged == verdict) for verdict in ("better", "worse")),
            ]
        print(f"| {students} | {100 * base:.0f}% | {shift or 'none'} | {' | '.join(cells)} |")


def report_net_benefit(number: int) -> None:
    """Intervals of the net benefit of `campus thresholds`."""
    print("\n| students | talks with | of whom need it | one in 2 | one in 4 | one in 10 |")
    print("|---" * 6 + "|")
    for students, share, precision in (
        *product((100, 300, 2000), (0.15,), (0.2, 0.6)),
        *((students, 1.0, 0.2) for students in (100, 300, 2000)),
    ):
        random = np.random.default_rng(students)
        talks = random.binomial(students, share, number)
        needed = random.binomial(talks, precision)
        cells = []
        for one_in in (2, 4, 10):
            truth = 100 * share * (precision - (1 - precision) / (one_in - 1))
            intervals = np.array(
                [
                    net_benefit_interval(int(n), int(k), students, one_in)
                    for n, k in zip(talks, needed, strict=True)
                ]
            )
            cells.append(_share(pl.Series((intervals[:, 0] <= truth) & (truth <= intervals[:, 1]))))
        print(f"| {students} | {100 * share:.0f}% | {100 * precision:.0f}% | {' | '.join(cells)} |")


def report_groups(worlds: Worlds, number: int) -> None:
    """Differences between groups where rules treat them alike, and where they do not."""
    print(
        "\n| 600 students | recall | false alarms | precision | any group distinguishable | boys and girls |"
    )
    print("|---" * 6 + "|")
    students = 600
    gender, cohort = np.arange(students) % 2, np.arange(students) % COHORTS
    for name, bases, bias in (
        ("no difference", np.full(students, 0.2), 0.0),
        ("boys fail three times as often", np.where(gender == 0, 0.3, 0.1), 0.0),
        ("cohorts fail by 8 to 33%", 0.08 + 0.05 * cohort, 0.0),
        ("rules are unfair to boys", np.full(students, 0.2), 0.5),
    ):
        random = np.random.default_rng(7)
        all_bases = np.broadcast_to(bases, (number, students))
        _fill_back_test(worlds, random, number, students, all_bases, 1.2, False, bias * (gender == 0))
        condition = "rule = 'level_warning' AND outcome = 'failed_next'"
        rows = worlds.build("early_warning_backtest_group", condition)
        boys = rows.filter(pl.col("group_type") == "gender", pl.col("group_code") == "m")
        truth = _precision(bases[gender == 0], 1.2, bias) - _precision(bases[gender == 1], 1.2)
        rates = _recall(1.2 + bias) - _recall(1.2), _recall(bias) - _recall(0)
        flagged = rows.group_by("school_id").agg(pl.col("is_distinguishable").fill_null(False).any())
        cells = [
            _coverage(boys, "recall_difference", 100 * rates[0]),
            _coverage(boys, "false_alarm_rate_difference", 100 * rates[1]),
            _coverage(boys, "precision_difference", 100 * truth),
            _share(flagged["is_distinguishable"]),
            _share(boys["is_distinguishable"]),
        ]
        print(f"| {name} | {' | '.join(cells)} |")


def report_growth(worlds: Worlds, number: int) -> None:
    """Growth of students of one cohort in the second of two semesters."""
    print("\n| cohort | percentile | any student distinguishable | students | growth with ability |")
    print("|---|---|---|---|---|")
    for name, students, courses, ability, spread, growth, is_uneven in (
        ("100 students, 6 courses, nobody differs", 100, 6, 8.0, 6.0, 0.0, False),
        ("300 students", 300, 6, 8.0, 6.0, 0.0, False),
        ("30 students", 30, 6, 8.0, 6.0, 0.0, False),
        ("100 students, 4 courses of wide spread", 100, 4, 6.0, 8.0, 0.0, False),
        ("100 students, whose spreads differ", 100, 6, 8.0, 6.0, 0.0, True),
        ("100 students who grow by 5 points more or less (sd)", 100, 6, 8.0, 6.0, 5.0, False),
    ):
        random = np.random.default_rng(students + courses)
        shape = (number, students)
        abilities = random.normal(70, ability, shape)
        grown = random.normal(0, growth, shape) if growth else np.zeros(shape)
        spreads = spread * (np.exp(random.normal(0, 0.35, shape)) if is_uneven else np.ones(shape))
        marks = abilities[..., None, None] + spreads[..., None, None] * random.normal(
            size=(*shape, 2, courses)
        )
        marks[:, :, 1] += grown[..., None]
        _fill_grades(worlds, np.round(marks, 2))
        rows = worlds.build("grade_student_growth", "semester_id = 20").sort("school_id", "student_id")
        figures = {
            c: rows[c].to_numpy().reshape(shape)
            for c in ("growth", "growth_percentile_low", "growth_percentile_high")
        }
        flags = rows["is_distinguishable"].fill_null(False).to_numpy().reshape(shape)
        is_judged = ~np.isnan(figures["growth"])
        truth = grown - grown.mean(axis=1, keepdims=True)
        percentile = 100 * (figures["growth"][:, None, :] <= truth[:, :, None]).mean(axis=2)
        holds = (figures["growth_percentile_low"] <= percentile) & (
            percentile <= figures["growth_percentile_high"]
        )
        correlations = [
            np.corrcoef(of_world[judged], level[judged])[0, 1]
            for of_world, level, judged in zip(figures["growth"], abilities, is_judged, strict=True)
            if judged.any()
        ]
        cells = [
            f"{100 * holds[is_judged].mean():.1f}",
            *(f"{100 * share:.1f}" for share in (flags.any(axis=1).mean(), flags.mean())),
            f"{np.mean(correlations):.2f}",
        ]
        print(f"| {name} | {' | '.join(cells)} |")


def report_classes(worlds: Worlds, number: int) -> None:
    """Classes of a cohort in one course."""
    print("\n| classes of 30 students | difference | any class above or below | classes |")
    print("|---|---|---|---|")
    for classes, effect in ((2, 0.0), (6, 0.0), (12, 0.0), (6, 4.0)):
        random = np.random.default_rng(classes)
        effects = random.normal(0, effect, (number, classes)) if effect else np.zeros((number, classes))
        marks = np.round(70 + effects[..., None] + random.normal(0, 10, (number, classes, 30)), 2)
        school, course_class, student = (index.ravel() for index in np.indices(marks.shape))
        columns = {"school_id": school, "student_id": 100 * course_class + student}
        worlds.fill(
            number,
            dim_semester={"school_id": np.arange(number), "semester_id": 20, "is_over": True},
            dim_student=columns | {"cohort_id": 1},
            dim_course_class={"school_id": np.repeat(np.arange(number), classes)}
            | {"course_class_id": np.tile(np.arange(classes), number), "course_name": "course"},
            fct_grade=columns
            | {"semester_id": 20, "course_class_id": course_class}
            | _grade_columns(marks.ravel()),
        )
        rows = worlds.build("grade_class_against_cohort").sort("school_id", "course_class_id")
        means = (effects.sum(axis=1, keepdims=True) - effects) / (classes - 1)
        flags = rows["is_distinguishable"].fill_null(False).to_numpy().reshape(effects.shape)
        cells = [
            _coverage(rows, "difference", pl.Series((effects - means).ravel())),
            f"{100 * flags.any(axis=1).mean():.1f}",
            f"{100 * flags.mean():.1f}",
        ]
        print(f"| {classes}{', which differ by 4 points (sd)' if effect else ''} | {' | '.join(cells)} |")


def _fill_back_test(
    worlds: Worlds,
    random: np.random.Generator,
    number: int,
    students: int,
    bases: Array,
    shift: float,
    is_coarse: bool,
    bias: Array | float = 0.0,
    lead: float = 0.0,
) -> None:
    """Week 8 of a semester. lead: the shift of attendance beside that of all; bias: of the level alone."""
    happened = random.random((number, students)) < bases
    common = random.normal(size=(number, students))
    risks = [
        shift * happened + np.sqrt(0.5) * (common + random.normal(size=(number, students))) for _ in range(4)
    ]
    risks[0] = risks[0] + bias
    risks[1] = risks[1] + lead * happened
    ranks = [np.searchsorted(CUTS, risk) for risk in risks]
    values = ranks if is_coarse else [np.round(risk, 2) for risk in risks]
    school, student = (index.ravel() for index in np.indices((number, students)))
    keys = {"school_id": school, "semester_id": 20, "student_id": student}
    week = keys | {"week": 8, "level": LEVELS[ranks[0]].ravel(), "known_when": "dated"}
    for indicator, value, rank in zip(
        ("attendance_rate", "attendance_drop", "lateness_rate"), values[1:], ranks[1:], strict=True
    ):
        week[indicator] = (90 - value if indicator == "attendance_rate" else 10 + value).ravel().astype(float)
        week[f"{indicator}_level"] = LEVELS[rank].ravel()
    worlds.fill(
        number,
        dim_semester={"school_id": np.arange(number), "semester_id": 20, "is_over": True, "week_count": 8},
        early_warning_student=keys
        | {"gender": np.where(student % 2, "f", "m"), "is_boarding": student // 2 % 2 == 0},
        early_warning_week=week | {"cohort_id": student % COHORTS},
        early_warning_outcome=keys | {"week": 8, "failed_next": happened.ravel()},
    )


def _fill_grades(worlds: Worlds, marks: Array) -> None:
    """Marks by world, student, semester and course."""
    number, students, _, courses = marks.shape
    school, student, semester, course = (index.ravel() for index in np.indices(marks.shape))
    of_semesters = marks.sum(axis=3)
    keys = [index.ravel() for index in np.indices(of_semesters.shape)]
    of_students = [index.ravel() for index in np.indices((number, students))]
    semesters = {"school_id": np.repeat(np.arange(number), 2), "semester_id": np.tile([19, 20], number)}
    worlds.fill(
        number,
        dim_semester=semesters
        | {"first_day": np.tile(np.array(["2024-09-01", "2025-03-01"], "M8[D]"), number)},
        dim_student={"school_id": of_students[0], "student_id": of_students[1], "cohort_id": 1},
        dim_course_class={"school_id": np.repeat(np.arange(number), courses)}
        | {"course_class_id": np.tile(np.arange(courses), number), "course_name": _names(courses, number)},
        fct_grade={"school_id": school, "student_id": student, "semester_id": 19 + semester}
        | {"course_class_id": course}
        | _grade_columns(marks.ravel()),
        grade_student_semester={"school_id": keys[0], "student_id": keys[1], "semester_id": 19 + keys[2]}
        | {"cohort_id": 1, "rank_in_cohort": 1, "is_complete": True}
        | {"score_sum": of_semesters.ravel(), "full_score_sum": 100.0 * courses}
        | {"score_rate": of_semesters.ravel() / courses},
    )


def _names(courses: int, number: int) -> list[str]:
    return [f"course {course}" for course in range(courses)] * number


def _grade_columns(percents: Array) -> dict[str, Any]:
    columns = {"grade_id": np.arange(len(percents)), "score_percent": percents, "is_passed": percents >= 60}
    return columns | {"source": "class", "counts_in_statistics": True}


def _recall(shift: float) -> float:
    return float(stats.norm.sf(CUTS[1] - shift))


def _precision(bases: Array, shift: float, bias: float = 0.0) -> float:
    hits = bases.mean() * _recall(shift + bias)
    return float(hits / (hits + (1 - bases.mean()) * _recall(bias)))


def _area(shift: float, is_coarse: bool) -> float:
    if not is_coarse:
        return float(stats.norm.cdf(shift / np.sqrt(2)))
    ends = np.concatenate([[-np.inf], CUTS, [np.inf]])
    with_it, without = np.diff(stats.norm.cdf(ends - shift)), np.diff(stats.norm.cdf(ends))
    return float(with_it @ (np.cumsum(without) - without / 2))


def _coverage(rows: pl.DataFrame, figure: str, truth: float | pl.Series) -> str:
    """How many of 100 intervals hold the truth."""
    low, high = rows[f"{figure}_low"], rows[f"{figure}_high"]
    return _share((low <= truth) & (truth <= high))


def _share(values: pl.Series) -> str:
    """Of 100 values that are not null, the true ones; nothing to say of few."""
    return "" if values.count() < 100 else f"{100 * values.drop_nulls().to_numpy().mean():.1f}"


if __name__ == "__main__":
    main()
