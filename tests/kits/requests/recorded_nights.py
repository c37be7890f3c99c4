"""Two nights of a small school: whether its lake holds what is there, and the requests that they took.

Requests that differ in ids, dates, watermarks or the number of a later page count as the same request. Only
one request is in flight at a time, so that each recording has the same requests. `make requests` records the
golden files again."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pipelines.settings.options import DatasetOptions, ReportOptions
from simulator.process import RunningSimulator
from tests.kits.platforms.in_process import platform_beside
from tests.kits.readings.choices import Reading
from tests.kits.requests.golden_file import (
    FIRST,
    SECOND,
    Nights,
    difference,
    read_nights,
    write_nights,
)
from tests.kits.truth.lake_truth import all_differences
from tests.kits.worlds.clock import clock_at
from tests.kits.worlds.world import World, world

SCHOOL, SEMESTER = 101, 10102
FIRST_DAY = date(2025, 3, 6)
SMALL: Reading = {
    "schools": 1,
    "students": 12,
    "semesters": 2,
    "core_subjects": 3,
    "dataset_rows": 200,
    "other_grades": "beside",
    "today": FIRST_DAY,
}
REPORTS = (
    ReportOptions(report="student_summary"),
    ReportOptions(report="成绩透视表", queries=("班级成绩",), matrix={"semester": (20241, 20242)}),
    ReportOptions(report="certificates", parameters={"period": ("2025-01-01", "2025-12-31")}),
)
# Choices by which a platform refuses nobody and no parameter.
OPEN_TO_ALL: Reading = {
    "class_scope": "either",
    "people_scope": "either",
    "refused_scopes": "drop",
    "v1_scopes": "none",
    "refusals": "status",
    "unlisted": "ignored",
    "schools_header": "optional",
    "max_url": 8000,
    "ignored": (),
}
DEVICES, CARDS = ("pad-101-1", "no-pad"), ("card-101000019", "no-card")

# Parameters whose values are ids: class_ids, semester_id, id_egt, loan_id_elt.
OF_IDS = re.compile(r"(^|_)ids?(_|$)")


def differing(home: Path, file: str, name: str, reading: Reading, *, paths_only: bool = False) -> str:
    """Lines for a person: what two nights of a new home failed to load, where its lake is not what the
    platform has, and where the requests differ from those in a golden file under a name.

    paths_only: the golden file has no parameters. With CAMPUS_WRITE_REQUESTS in the environment, the requests
    are written to it before."""
    problems, recorded = two_nights(home, reading)
    if paths_only:
        recorded = {night: _by_path(requests) for night, requests in recorded.items()}
    if os.environ.get("CAMPUS_WRITE_REQUESTS"):
        write_nights(file, name, recorded)
    return "\n".join([*problems, difference(recorded, read_nights(file, name))]).strip()


def two_nights(home: Path, reading: Reading) -> tuple[list[str], Nights]:
    """Load a school twice: what failed or is not as the platform has it, in words, and the requests.

    Between the nights, a day passes and rows of every kind change."""
    size = {**SMALL, **reading}
    problems: list[str] = []
    with (
        world(home, datasets=False, **size) as school,
        # The same rows, and a v1 interface for anybody.
        platform_beside(**{**size, **OPEN_TO_ALL}) as (twin, answers),
    ):
        platforms = (school.platform, twin)
        _choose_settings(school, reading)

        def load(night: str, day: date) -> Counter[str]:
            school.platform.clear_log()
            with clock_at(day), _one_after_the_other():
                failed = school.load(select=None).problems
            requests = Counter(map(_request, school.platform.log()))
            differences = all_differences(school, reading, answers, DEVICES, CARDS)
            problems.extend(f"{night}: {problem}" for problem in failed)
            problems.extend(f"{night}: {table}: {difference}" for table, difference in differences.items())
            return requests

        [short_lived, _] = [platform.insert("classes", SEMESTER, name="空")["key"] for platform in platforms]
        first = load(FIRST, FIRST_DAY)
        for platform in platforms:
            _change(platform, short_lived)
        [second_day, _] = [date.fromisoformat(platform.let_days_pass(1)) for platform in platforms]
        return problems, {FIRST: first, SECOND: load(SECOND, second_day)}


def _by_path(requests: Counter[str]) -> Counter[str]:
    result: Counter[str] = Counter()
    for request, count in requests.items():
        result[" ".join(request.split(" ")[:2])] += count
    return result


def _choose_settings(school: World, reading: Reading) -> None:
    """Set what an operator of such a platform would."""
    defaults = school.settings.options
    about_platform = {
        "concurrency": 1,
        "date_ranges": reading.get("report_date_range", "array"),
        "extra_scopes": ("attendance.read",) if reading.get("v1_scopes") == "own" else (),
    }
    platform = defaults.platform.model_copy(update=about_platform)
    options = defaults.model_copy(
        update={"platform": platform, "datasets": DatasetOptions(), "reports": REPORTS}
    )
    schools = (SCHOOL,) if reading.get("schools_header") == "required" else None
    school.settings = school.settings.model_copy(
        update={"options": options, "device_ids": DEVICES, "card_ids": CARDS, "school_ids": schools}
    )


@contextmanager
def _one_after_the_other() -> Iterator[None]:
    """Load semesters and reports one after the other. Side by side, chance decides how many of them send a
    parameter before the platform's first refusal of the parameter is known."""
    with (
        patch("loading.load_school.SEMESTERS_AT_A_TIME", 1),
        patch("loading.reports.load_results.RESULTS_AT_A_TIME", 1),
    ):
        yield


def _change(platform: RunningSimulator, short_lived: int) -> None:
    """Insert, change, delete and destroy rows of every generation of the interface."""

    def keys(resource: str, semester: int | None = None) -> list[int]:
        rows = platform.rows(resource, SCHOOL, semester)
        return [entry["key"] for entry in rows if not entry["trashed"]]

    students, classes, members = keys("students"), keys("classes", SEMESTER), keys("class_members", SEMESTER)
    grades, scores, users = keys("grades", SEMESTER), keys("scores", SEMESTER), keys("v1_users")
    platform.insert("students", SCHOOL, name="新同学")
    platform.update("students", students[0], name="改名")
    platform.destroy("teachers", keys("teachers")[0])
    platform.update("terms", keys("terms")[0], name="改名")
    platform.update("classes", classes[0], name="改名")
    platform.insert("classes", SEMESTER, name="新课")
    platform.delete("classes", short_lived)
    platform.update("class_members", members[0], class_together=True)
    platform.delete("class_members", members[1])
    platform.update("grades", grades[0], score="1", real_score="1")
    platform.destroy("grades", grades[1])
    platform.update("scores", scores[0], score="0.25")
    platform.destroy("scores", scores[1])
    platform.update("v1_users", users[0], name="改名")
    platform.update("attendance_records", keys("attendance_records", SEMESTER)[0], result="absent")
    for dataset in ("big_scores", "course_scores"):
        first, second, *_ = keys(f"datasets/{dataset}")
        platform.update(f"datasets/{dataset}", first, parent=SCHOOL)
        platform.destroy(f"datasets/{dataset}", second, parent=SCHOOL)
        platform.insert(f"datasets/{dataset}", SCHOOL)
    [query] = [row for row in platform.rows("report_queries", SCHOOL) if row["row"]["label"] == "证书"]
    certificates = f"reports/{query['key']}"
    platform.destroy(certificates, keys(certificates)[0], parent=SCHOOL)
    # Takes a request for each session of the student's classes. Here these are all classes.
    platform.delete("reflections", keys("students")[1])


def _request(entry: Mapping[str, Any]) -> str:
    """A logged request without its ids, dates, watermarks and later page numbers."""
    path = re.sub(r"/\d+(?=/|$)", "/{id}", entry["path"])
    # Platforms differ in the prefix of datasets and reports.
    path = re.sub(r"^(/api)?/v3/(?=uds/|reporting/)", "{prefix}/", path)
    query = "&".join(f"{name}={_value(name, value)}" for name, value in sorted(entry["query"].items()))
    return f"{entry['method']} {path} {query}".rstrip()


def _value(name: str, value: str) -> str:
    if name.startswith("updated_at"):
        return "<watermark>"
    if name in ("date", "lesson"):
        return f"{{{name}}}"
    if name in ("page", "$page"):
        return "1" if value == "1" else "{next}"
    if OF_IDS.search(name):
        ids = value.count(",") + 1
        return f"{{{ids} ids}}" if ids > 1 else "{id}"
    return value
