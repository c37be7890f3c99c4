"""A home's own thresholds: what they replace, and what is said of files that make no sense."""

import csv
from pathlib import Path

import pytest

from warehouse.publish.build import models_version
from warehouse.publish.models.compiled_models import Project, read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.thresholds import ThresholdsWrong, read_own, with_own

ONLY_CSV = "only the CSV file of a table of thresholds belongs here"
RULES, TIERS, STATUSES = "early_warning_rules", "attendance_tiers", "attendance_status_rules"


@pytest.fixture(scope="module")
def project() -> Project:
    return read_project(compiled())


def put(home: Path, name: str, text: str, encoding: str = "utf-8") -> None:
    (home / "thresholds").mkdir(exist_ok=True)
    (home / "thresholds" / name).write_text(text, encoding=encoding)


def merged(home: Path, project: Project, seed: str) -> list[dict[str, str]]:
    made = with_own(project, read_own(home, project), home / "seeds")
    [model] = [model for model in made.models if model.name == f"seeds.{seed}"]
    with Path(model.sql).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_replaces_the_default_of_its_key_and_what_it_leaves_out_stays(
    tmp_path: Path, project: Project
) -> None:
    default = {row["indicator"]: row for row in merged(tmp_path, project, RULES)}
    put(
        tmp_path,
        f"{RULES}.csv",
        "indicator,warning,school_id\r\nlateness_rate,15,\r\n\r\nlateness_rate,12,101\r\n",
        "utf-8-sig",
    )
    rows = merged(tmp_path, project, RULES)
    assert [row for row in rows if row["indicator"] == "lateness_rate"] == [
        default["lateness_rate"] | {"warning": "15"},
        default["lateness_rate"] | {"warning": "12", "school_id": "101"},
    ]
    assert [row for row in rows if row["indicator"] != "lateness_rate"] == [
        row for name, row in default.items() if name != "lateness_rate"
    ]


def test_a_set_is_replaced_as_a_whole_and_for_one_school_beside_the_default(
    tmp_path: Path, project: Project
) -> None:
    default = merged(tmp_path, project, TIERS)
    own = "upper_percent,level,tier,school_id\n85,warning,low,{0}\n100,none,fine,{0}\n"
    put(tmp_path, f"{TIERS}.csv", own.format(101))
    rows = merged(tmp_path, project, TIERS)
    assert rows[: len(default)] == default
    assert [(row["school_id"], row["tier"]) for row in rows[len(default) :]] == [
        ("101", "low"),
        ("101", "fine"),
    ]
    put(tmp_path, f"{TIERS}.csv", own.format(""))
    assert [row["tier"] for row in merged(tmp_path, project, TIERS)] == ["low", "fine"]


def test_each_change_is_another_version(tmp_path: Path) -> None:
    versions = [models_version(tmp_path)]
    put(tmp_path, ".~lock.rules.csv#", "somebody has it open")
    assert models_version(tmp_path) == versions[0]
    for text in ("indicator,warning\nlateness_rate,15\n", "indicator,warning\nlateness_rate,16\n"):
        put(tmp_path, f"{RULES}.csv", text)
        versions.append(models_version(tmp_path))
    assert len(set(versions)) == 3
    (tmp_path / "thresholds" / f"{RULES}.csv").unlink()
    assert models_version(tmp_path) == versions[0]


@pytest.mark.parametrize(
    ("name", "text", "problems"),
    [
        ("early_warning_rule.csv", "", [f"{ONLY_CSV}; is it early_warning_rules?"]),
        (f"{RULES}.xlsx", "", [ONLY_CSV]),
        (f"{RULES}.csv", "indicator,warning\n", ["has no rows: delete it to use the default thresholds"]),
        (f"{RULES}.csv", "indicator;warning\nlateness_rate;15\n", ["line 1: separate the columns by commas"]),
        (f"{RULES}.csv", "indicator,warnings\nx,1\n", ["line 1: column 2 has no known heading; is it w"]),
        (f"{RULES}.csv", "school_id,warning\n101,1\n", ["line 1: indicator is missing"]),
        (f"{TIERS}.csv", "tier,upper_percent\nlow,90\n", ["line 1: level is missing"]),
        (f"{RULES}.csv", "indicator,warning\nlateness_rate\n", ["line 2: expected 2 cells, as line 1 has"]),
        (
            f"{RULES}.csv",
            "school_id,indicator,warning,suffices\na,lateness_rate,many,perhaps\n",
            [
                "line 2: school_id: expected a whole number",
                "line 2: suffices: expected true or false",
                "line 2: warning: expected a number",
            ],
        ),
        (
            f"{RULES}.csv",
            "school_id,indicator,minimum\n101.4,lateness_rate,1.5\n0101,lateness_rate,2\n",
            [
                "line 2: minimum: expected a whole number",
                "line 2: school_id: expected a whole number",
                "line 3: school_id: expected a whole number",
            ],
        ),
        (f"{RULES}.csv", "indicator\n" + "x" * 200_000, ["is not a CSV file: save it as CSV UTF-8"]),
        (
            f"{RULES}.csv",
            "indicator,warning\nlateness,15\nscore_rate,60\nscore_rate,65\n",
            [
                "line 2: there is no such indicator; is it lateness_rate?",
                "line 4: the same indicator as in line 3",
            ],
        ),
        (f"{STATUSES}.csv", "status,absence_label\nnew,*\n", ["line 2: a new status, absence_label needs"]),
        (
            f"{RULES}.csv",
            "indicator,warning,at_risk\nlateness_rate,10,5\nattendance_rate,85,\n",
            [
                "line 2: expected that at_risk is worse than warning",
                "line 3: expected that attendance_rate has its limits in attendance_tiers.csv",
            ],
        ),
        (f"{TIERS}.csv", "tier,upper_percent,level\nlow,90,bad\n", ["line 2: expected that level is"]),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_file_and_line(
    tmp_path: Path, project: Project, name: str, text: str, problems: list[str]
) -> None:
    put(tmp_path, name, text)
    with pytest.raises(ThresholdsWrong) as raised:
        read_own(tmp_path, project)
    messages = sorted(raised.value.problems)
    assert len(messages) == len(problems), messages
    for said, wanted in zip(messages, sorted(problems), strict=True):
        assert said.startswith(str(tmp_path / "thresholds" / name)) and wanted in said


def test_what_a_chinese_spreadsheet_saves_is_refused_in_words(tmp_path: Path, project: Project) -> None:
    put(tmp_path, f"{TIERS}.csv", "tier,upper_percent,level\n良好,100,none\n", "gb18030")
    with pytest.raises(ThresholdsWrong, match="is not UTF-8: save it as CSV UTF-8"):
        read_own(tmp_path, project)
