"""A page for each administrative class: the class by its id, what each row says of it, and for whom it is.

Each row names its class, so that each printed page does, too, and the rows stay one table."""

from __future__ import annotations

from exports.spreadsheet.sheets import Column, Words
from exports.workbooks.terms import NO_NAME, grade_name

#: The rules for the protection of minors at school (未成年人学校保护规定, 2021) forbid publishing marks and
#: ranks.
FOR_CLASS_TEACHER = Words(
    "For the class teacher's own use. Do not post it or forward it to a class chat.",
    "供班主任本人使用，请勿张贴或转发到班级群。",
)
#: The last grade with a name of its own; later ones are shown by their codes.
LAST_GRADE = 12
#: The column whose change begins a page.
PAGE = "admin_class_id"
#: `class_heads`: grade, name and class teacher of each class in the semester that is shown. A class teacher
#: is v1's head, or else all teachers of the class. A class with the grade, name and teacher of another class
#: has its id in its name.
CLASS_HEADS = """class_teachers AS (
    SELECT
        school_id, admin_class_id,
        string_agg(coalesce(teacher_name, staff_number), ', ' ORDER BY teacher_id) AS class_teacher
    FROM core.bridge_admin_class_teacher
    WHERE role IS DISTINCT FROM 'deputy'
    GROUP BY ALL
),
graded_classes AS (
    SELECT
        school_id, semester_id, admin_class_id, admin_class_name, cohort_name AS class_cohort,
        coalesce('grade ' || grade_level, cohort_name) AS class_grade, class_teacher
    FROM core.dim_admin_class
    JOIN shown USING (school_id)
    LEFT JOIN core.cohort_grade_level USING (school_id, semester_id, cohort_id)
    LEFT JOIN class_teachers USING (school_id, admin_class_id)
),
class_heads AS (
    SELECT
        school_id, semester_id, admin_class_id, class_cohort, class_grade, class_teacher,
        admin_class_name || if(count(*) OVER alike > 1, ' (' || admin_class_id || ')', '') AS class_name
    FROM graded_classes
    WINDOW alike AS (PARTITION BY school_id, semester_id, class_grade, admin_class_name, class_teacher)
)"""
#: The first columns of a sheet, of `class_heads` and the rows of students. A student without a class has the
#: grade of the cohort.
HEAD = """
    coalesce(class_grade, 'grade ' || grade_level, cohort_name, '') AS grade,
    coalesce(class_name, admin_class_id::VARCHAR, '') AS admin_class_name,
    coalesce(class_teacher, '') AS class_teacher
"""
#: The students of a class stand together; those without a class stand last.
ORDER = "semester_name, admin_class_id IS NULL, class_cohort, class_name, admin_class_id, cohort_name"
SOURCES = ("core.bridge_admin_class_teacher", "core.dim_admin_class")
COLUMNS = {
    "grade": Column(
        Words("Grade", "年级"),
        words={f"grade {level}": grade_name(level) for level in range(1, LAST_GRADE + 1)} | NO_NAME,
        stays=True,
    ),
    "admin_class_name": Column(words=NO_NAME, stays=True),
    "class_teacher": Column(Words("Class teacher", "班主任"), words=NO_NAME, stays=True),
}
