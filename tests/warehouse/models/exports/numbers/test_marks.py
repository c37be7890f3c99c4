"""The marks of lists beside the figures that count them, where a quarter of the grades does not count."""

import csv
import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import duckdb

from exports.library.words import labels
from tests.kits.exports.site_pages import pages
from tests.kits.models.simulated_school import WORD
from warehouse.publish.models.dbt_project import PROJECT

DELAYED, DELAYED_ZH = "Delayed, does not count", "缓考，不计入"


def test_figures_of_a_pupil_agree_with_the_list(site: Path) -> None:
    """Of each semester the scored and failed courses, and the failed courses that the level is based on."""
    delayed = 0
    for student, page in pages(site, "student"):
        by_semester = defaultdict[str, list[Mapping[str, str]]](list)
        for row in page["Courses"]:
            by_semester[row["Semester"]].append(row)
        assert by_semester.keys() <= {row["Semester"] for row in page["Grades by semester"]}
        for figures in page["Grades by semester"]:
            listed = by_semester[figures["Semester"]]
            counted = [row for row in listed if row["Passed"] in "✓✗—"]
            delayed += sum(row["Passed"] == DELAYED for row in listed)
            assert all(row["Passed"] == DELAYED for row in listed if row not in counted), student
            assert int(figures["Scored courses"]) == sum(
                row["Percent of the full score"] != "—" for row in counted
            )
            assert int(figures["Failed courses"]) == sum(row["Passed"] == "✗" for row in counted), student
        current = [row["Passed"] for row in by_semester[page["Early warning"][0]["Semester"]]]
        indicators = {row["Indicator"]: row["Value"] for row in page["What the level is based on"]}
        assert int(indicators["Failed courses"]) == current.count("✗"), student
    assert delayed > 50


def test_figures_of_a_course_class_agree_with_the_list(site: Path, published: Path) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        failed = dict(
            con.execute(
                "SELECT course_class_id, count(*) FILTER (NOT is_passed) FROM core.fct_grade "
                "JOIN core.bridge_class_student USING (school_id, course_class_id, student_id) "
                "WHERE source = 'class' AND counts_in_statistics AND left_on IS NULL GROUP BY ALL"
            ).fetchall()
        )
    verdicts = {key: [row["Passed"] for row in page["Students"]] for key, page in pages(site, "course")}
    assert {key: column.count("✗") for key, column in verdicts.items()} == {
        key: failed.get(key, 0) for key in verdicts
    }
    assert DELAYED in str(verdicts)


def test_a_status_that_does_not_count_is_in_both_languages(site: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in site.glob("student/*.html")]
    assert any(DELAYED in text and DELAYED_ZH in text for text in texts)


def test_each_status_has_words() -> None:
    """Also a status that counts by default, since the rules of a home may differ."""
    with (PROJECT / "seeds" / "grade_status_rules.csv").open(encoding="utf-8") as file:
        assert {row["status"] for row in csv.DictReader(file)} == labels("not_counted").keys()


def test_labels_of_lists_are_in_chinese(site: Path) -> None:
    headings = {
        label
        for path in site.glob("student/*.html")
        for label in re.findall(r'<th scope="col".*?>(.*?)</th>', path.read_text(encoding="utf-8"))
    }
    chinese = {re.sub(r'<span class="en".*?</span>|<.*?>', "", label) for label in headings}
    assert len(chinese) > 30 and [label for label in chinese if re.search("[a-z]", label)] == []


def test_a_score_in_words_is_in_the_list(site: Path) -> None:
    for title in ("Courses", "Scores by item"):
        rows = [row for _, page in pages(site, "student") for row in page[title]]
        assert WORD in {row.get("Score text") for row in rows}, title


def test_no_row_has_a_percentage_without_a_score(site: Path) -> None:
    rows = [row for _, page in pages(site, "student") for row in page["Courses"]]
    assert [
        row for row in rows if (row["Score (points)"] == "—") != (row["Percent of the full score"] == "—")
    ] == []
    assert sum(row["Score (points)"] != "—" for row in rows) > 100
