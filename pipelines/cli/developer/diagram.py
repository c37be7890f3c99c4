"""`make diagram`: writes the diagrams of core into docs/reference/warehouse.md.

They show the keys and references that the checks of the models declare."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.relations import relations

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "warehouse.md"
BEGIN, END = "<!-- make diagram: begin -->", "<!-- make diagram: end -->"
#: Every key and nearly every reference has it, so it is mentioned once and not drawn.
SCHOOL = "school_id"
#: The tables that refer to others, by the diagram that shows them; those that only models read are left out.
SUBJECTS = {
    "Terms, people and course classes": (
        *("dim_semester", "dim_term", "dim_structure", "dim_student", "dim_course_class"),
        *("dim_teaching_class", "bridge_v1_semester"),
    ),
    "Administrative classes and grades": (
        *("dim_admin_class", "cohort_grade_level", "bridge_student_admin_class"),
        *("bridge_admin_class_student", "bridge_admin_class_teacher"),
    ),
    "Lessons and attendance": (
        *("dim_date", "dim_lesson", "fct_attendance", "fct_class_session", "fct_timetable"),
        *("bridge_class_member", "bridge_class_student", "bridge_class_teacher", "fct_intervention"),
    ),
    "Assessments and scores": (
        *("dim_assessment", "dim_assessment_item", "fct_assessment_item", "fct_score", "fct_item_score"),
    ),
    "Grades": ("fct_grade", "fct_grade_by_items", "fct_transcript_course"),
}


def diagrams(rows: Iterable[Mapping[str, Any]], types: Mapping[tuple[str, str], str]) -> str:
    """A diagram in Mermaid for each subject. `rows`: of `relations`; `types`: by table and column."""
    rows = [row for row in rows if row["schema_name"] == "core"]
    parts = [BEGIN]
    for subject, tables in SUBJECTS.items():
        lines = ["erDiagram", "    direction LR"]
        for table in tables:
            own = [row for row in rows if row["table_name"] == table]
            key = next(row["columns"] for row in own if row["kind"] != "foreign key")
            references = {
                row["columns"][-1]: row
                for row in own
                if row["kind"] == "foreign key"
                and row["referenced_schema"] == "core"
                and row["columns"] != [SCHOOL]
            }
            columns = dict.fromkeys([*(name for name in key if name != SCHOOL), *references])
            lines.append(f"    {table} {{")
            for column in columns:
                marks = ", ".join(["PK"] * (column in key) + ["FK"] * (column in references))
                lines.append(f"        {types[table, column]} {column} {marks}")
            lines.append("    }")
            for column, row in references.items():
                ends = "||--o|" if row["cardinality"] == "one to one" else "||--o{"
                lines.append(f"    {row['referenced_table']} {ends} {table} : {column}")
        parts += ["", f"**{subject}**", "", "```mermaid", *lines, "```"]
    return "\n".join([*parts, "", END])


def with_diagrams(page: str, drawn: str) -> str:
    """The page with these diagrams in the place of its own."""
    before, _, rest = page.partition(BEGIN)
    return before + drawn + rest.partition(END)[2]


def types_of(project: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """By table and column, the type in the yml of a model. `project`: compiled."""
    return {
        (node["name"], name): column["data_type"]
        for node in project["nodes"].values()
        for name, column in node["columns"].items()
    }


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        with_diagrams(page, diagrams(relations(compiled()), types_of(compiled()))), encoding="utf-8"
    )
