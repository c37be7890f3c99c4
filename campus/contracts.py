"""Contracts of base data, assessments and grades, field for field as the interface specification has them.

Only keys are required: a platform that leaves another field out, or sends null, still loads. Timestamps
are the platform's wall clock (Asia/Shanghai). Strings that carry decimals become exact decimals.
"""

from typing import Annotated

from campus.contract import Contract, Flag, Int, Number, People, TagRef, Text, WallClock, doc


class School(Contract):
    """A school that the credentials may read."""

    id: Annotated[Int, doc("School id, sent as the X-School-Id header of every request")]
    name: Annotated[Text | None, doc("School name, up to 50 characters")] = None
    url: Annotated[Text | None, doc("Web address of the school")] = None
    district: Annotated[Text | None, doc("Region of the school")] = None


class Semester(Contract):
    """A semester of a school; course classes belong to one."""

    id: Annotated[Int, doc("Semester id")]
    school_id: Annotated[Int | None, doc("School id")] = None
    academic_year_id: Annotated[
        Int | None, doc("Term id of the academic year (type system.academic_year)")
    ] = None
    category_id: Annotated[
        Int | None, doc("Term id of the semester category (type system.semester_category)")
    ] = None
    name: Annotated[Text | None, doc("Semester name")] = None
    start_at: Annotated[WallClock | None, doc("First moment of the semester; a bare date means midnight")] = (
        None
    )
    end_at: Annotated[WallClock | None, doc("Last day of the semester; a bare date means midnight")] = None
    is_current: Annotated[Flag | None, doc("Whether this is the current semester")] = None
    outer_id: Annotated[Text | None, doc("Id in an external system")] = None


class Term(Contract):
    """An entry of one of the platform's vocabularies: cohorts, academic years, subjects and so on."""

    id: Annotated[Int, doc("Term id")]
    school_id: Annotated[Int | None, doc("School id")] = None
    parent_id: Annotated[Int | None, doc("Parent term id")] = None
    name: Annotated[Text | None, doc("Term name")] = None
    label: Annotated[Text | None, doc("Display name")] = None
    description: Annotated[Text | None, doc("Description")] = None
    type: Annotated[Text | None, doc("Vocabulary, e.g. system.graduates_in or course.subject")] = None
    weight: Annotated[Int | None, doc("Sort weight")] = None
    archived_at: Annotated[WallClock | None, doc("When the term was archived; null: in use")] = None


class Structure(Contract):
    """A unit of the school's organisation: headquarters, campus, school level, grade or subject group."""

    id: Annotated[Int, doc("Structure id")]
    school_id: Annotated[Int | None, doc("School id")] = None
    parent_id: Annotated[
        Int | None, doc("Parent structure id, where the platform sends it", expected=False)
    ] = None
    depth: Annotated[Int | None, doc("Depth in the tree")] = None
    seq: Annotated[Int | None, doc("Position among all structures")] = None
    weight: Annotated[Int | None, doc("Sort weight")] = None
    name: Annotated[Text | None, doc("Name")] = None
    path: Annotated[Text | None, doc("Path from the root")] = None
    type: Annotated[
        Text | None,
        doc("Kind of unit", values=("headquarters", "campus", "school_level", "grade", "subject_group")),
    ] = None
    graduates_in_id: Annotated[Int | None, doc("Cohort term id; only for a grade that is mapped to one")] = (
        None
    )
    outer_id: Annotated[Text | None, doc("Id in an external system")] = None
    status: Annotated[Text | None, doc("Status", values=("normal", "archived"))] = None
    created_at: Annotated[WallClock | None, doc("Created at")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at")] = None


class Reflection(Contract):
    """A user of any role, with basic fields only."""

    id: Annotated[Int, doc("User id")]
    school_id: Annotated[Int | None, doc("School id")] = None
    name: Annotated[Text | None, doc("Name", personal=True)] = None
    role: Annotated[Text | None, doc("Role", values=("teacher", "student", "staff", "guardian"))] = None
    usin: Annotated[Text | None, doc("Student or staff number", personal=True)] = None
    phone: Annotated[Text | None, doc("Phone", personal=True)] = None
    structure_ids: Annotated[list[Int] | None, doc("Ids of the user's structures")] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", personal=True)] = None
    status: Annotated[Text | None, doc("Status; the values are not specified", enum=True)] = None
    deleted_at: Annotated[WallClock | None, doc("When the user was deleted; null: alive")] = None


class Student(Contract):
    """A student."""

    id: Annotated[Int, doc("Student id (also the user id)")]
    school_id: Annotated[Int | None, doc("School id")] = None
    name: Annotated[Text | None, doc("Name", personal=True)] = None
    role: Annotated[Text | None, doc("Role", values=("student",))] = None
    usin: Annotated[Text | None, doc("Student number", personal=True)] = None
    structure_ids: Annotated[list[Int] | None, doc("Ids of the student's structures")] = None
    pupil_id: Annotated[Int | None, doc("Pupil id")] = None
    graduates_in_id: Annotated[Int | None, doc("Cohort term id")] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", personal=True)] = None
    status: Annotated[Text | None, doc("Status; the values are not specified", enum=True)] = None
    deleted_at: Annotated[
        WallClock | None, doc("When the student was deleted, where the platform shows it", expected=False)
    ] = None


class Teacher(Contract):
    """A teacher."""

    id: Annotated[Int, doc("Teacher id (also the user id)")]
    school_id: Annotated[Int | None, doc("School id")] = None
    name: Annotated[Text | None, doc("Name", personal=True)] = None
    role: Annotated[Text | None, doc("Role", values=("teacher",))] = None
    usin: Annotated[Text | None, doc("Staff number", personal=True)] = None
    phone: Annotated[Text | None, doc("Phone", personal=True)] = None
    structure_ids: Annotated[list[Int] | None, doc("Ids of the teacher's structures")] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", personal=True)] = None
    department_names: Annotated[list[Text] | None, doc("Names of the teacher's departments")] = None
    status: Annotated[Text | None, doc("Status; the values are not specified", enum=True)] = None
    deleted_at: Annotated[
        WallClock | None, doc("When the teacher was deleted, where the platform shows it", expected=False)
    ] = None


class AdminClass(Contract):
    """An administrative class: the group that a student belongs to for years."""

    id: Annotated[Int, doc("Administrative class id")]
    school_id: Annotated[Int | None, doc("School id")] = None
    name: Annotated[Text | None, doc("Name; unique only together with its cohort")] = None
    graduates_in_id: Annotated[Int | None, doc("Cohort term id")] = None
    structure_ids: Annotated[list[Int] | None, doc("Ids of the class's structures")] = None
    place_id: Annotated[Int | None, doc("Classroom id")] = None
    teacher_ids: Annotated[list[Int] | None, doc("Ids of head and deputy teachers")] = None
    student_nums: Annotated[Int | None, doc("Number of students")] = None
    outer_id: Annotated[Text | None, doc("Id in an external system")] = None
    status: Annotated[Text | None, doc("Status; the values are not specified", enum=True)] = None


class CourseClass(Contract):
    """A course class: one subject taught to one group in one semester."""

    id: Annotated[Int, doc("Course class id")]
    school_id: Annotated[Int | None, doc("School id")] = None
    semester_id: Annotated[Int | None, doc("Semester id")] = None
    csin: Annotated[Text | None, doc("Unique course code")] = None
    name: Annotated[Text | None, doc("Course name")] = None
    class_name: Annotated[Text | None, doc("Class name within the course")] = None
    grade_ids: Annotated[list[Int] | None, doc("Ids of the grades taught")] = None
    subject_id: Annotated[Int | None, doc("Subject term id (type course.subject)")] = None
    domain_id: Annotated[Int | None, doc("Domain term id (type course.domain)")] = None
    structure_ids: Annotated[list[Int] | None, doc("Ids of the class's structures")] = None
    admin_class_ids: Annotated[list[Int] | None, doc("Ids of the administrative classes taught")] = None
    teachers: Annotated[
        People | None, doc("Teachers; only the id is set where the platform sends bare ids")
    ] = None
    students: Annotated[
        People | None, doc("Students, where the platform sends them; see class_members", expected=False)
    ] = None
    created_at: Annotated[WallClock | None, doc("Created at")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at")] = None
    deleted_at: Annotated[
        WallClock | None, doc("When the class was deleted, where the platform shows it", expected=False)
    ] = None


class ClassMember(Contract):
    """A person's membership of a course class (a class selection)."""

    type: Annotated[Text, doc("Kind of member; the values are not specified", enum=True)]
    reflection_id: Annotated[Int, doc("User id of the member")]
    class_id: Annotated[
        Int | None,
        doc("Course class id; supplied by the question where the answer leaves it out", expected=False),
    ] = None
    class_together: Annotated[Flag | None, doc("Studies together with the class")] = None
    deleted_at: Annotated[WallClock | None, doc("When the membership ended; null: a member")] = None
    created_at: Annotated[WallClock | None, doc("Created at")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at")] = None


class Assessment(Contract):
    """The assessment of a course class; it has items, each with scores, and gives one grade a student."""

    id: Annotated[Int, doc("Assessment id")]
    class_id: Annotated[Int | None, doc("Course class id, supplied by the question", expected=False)] = None
    school_id: Annotated[Int | None, doc("School id")] = None
    semester_id: Annotated[Int | None, doc("Semester id")] = None
    type: Annotated[Text | None, doc("Kind of assessment; the values are not specified", enum=True)] = None
    name: Annotated[Text | None, doc("Name")] = None
    scope_type: Annotated[
        Text | None, doc("What scope_id points to; the values are not specified", enum=True)
    ] = None
    scope_id: Annotated[Int | None, doc("Id of the course class assessed", expected=False)] = None
    status: Annotated[Text | None, doc("Status; the values are not specified", enum=True)] = None
    full_score: Annotated[Number | None, doc("Full score")] = None
    item_num: Annotated[Int | None, doc("Number of items, as the platform counts them")] = None
    published_at: Annotated[WallClock | None, doc("Published at; null: unpublished")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at")] = None


SCORE_KINDS = ("score", "star", "level")


class AssessmentItem(Contract):
    """An item of an assessment; items form a tree of one to three levels."""

    id: Annotated[Int, doc("Item id")]
    assessment_id: Annotated[Int | None, doc("Assessment id")] = None
    pid: Annotated[Int | None, doc("Parent item id; 0 at the top")] = None
    type: Annotated[
        Text | None,
        doc("Kind of item", values=("dimension", "sub_dimension", "item", "special_item", "attendance_item")),
    ] = None
    name: Annotated[Text | None, doc("Name")] = None
    description: Annotated[Text | None, doc("Description")] = None
    sort: Annotated[Int | None, doc("Position among its siblings")] = None
    full_score: Annotated[Number | None, doc("Full score")] = None
    initial_score: Annotated[Number | None, doc("Score that each student starts with")] = None
    weight: Annotated[Int | None, doc("Weight in the parent's score")] = None
    stage_id: Annotated[Int | None, doc("Stage id")] = None
    scoring_type: Annotated[
        Text | None, doc("How it is scored", values=(*SCORE_KINDS, "addition", "tag", "review"))
    ] = None
    display_type: Annotated[Text | None, doc("How it is shown", values=SCORE_KINDS)] = None
    tags: Annotated[list[TagRef] | None, doc("Tags that a score of this item may carry")] = None
    published_at: Annotated[WallClock | None, doc("Published at; null: unpublished")] = None


class Score(Contract):
    """One score of one student for one item."""

    id: Annotated[Int, doc("Score id")]
    school_id: Annotated[Int | None, doc("School id")] = None
    assessment_id: Annotated[Int | None, doc("Assessment id")] = None
    item_id: Annotated[Int | None, doc("Item id")] = None
    type: Annotated[Text | None, doc("Kind of score", values=("raw", "item_score"))] = None
    owner_id: Annotated[Int | None, doc("Student id")] = None
    evaluator_id: Annotated[Int | None, doc("Evaluator's user id; null for additions and initial scores")] = (
        None
    )
    valid: Annotated[Flag | None, doc("Whether it takes part in the evaluation")] = None
    invalid_type_id: Annotated[Int | None, doc("Kind of invalidity")] = None
    invalid_reason: Annotated[Text | None, doc("Why it is invalid", personal=True)] = None
    score: Annotated[Number | None, doc("Score; null: not scored, 0: zero points")] = None
    gained_score: Annotated[Number | None, doc("Score gained")] = None
    tag: Annotated[Text | None, doc("Tag, one of its item's")] = None
    review: Annotated[Text | None, doc("Evaluator's review", personal=True)] = None
    self_review: Annotated[Text | None, doc("Student's own review", personal=True)] = None
    rank: Annotated[Int | None, doc("Rank")] = None
    rank_base: Annotated[Int | None, doc("Number ranked")] = None
    status: Annotated[Text | None, doc("Status; the values are not specified", enum=True)] = None
    published_at: Annotated[WallClock | None, doc("Published at; null: unpublished")] = None
    created_at: Annotated[WallClock | None, doc("Created at")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at")] = None


GRADE_SOURCES = ("class", "moral", "dorm", "custom", "teacher_assessment", "awarded_credit", "stage")


class Grade(Contract):
    """The total grade of one student for one assessment."""

    id: Annotated[Int, doc("Grade id")]
    school_id: Annotated[Int | None, doc("School id")] = None
    semester_id: Annotated[Int | None, doc("Semester id")] = None
    source_id: Annotated[Int | None, doc("Assessment id (not a class id)")] = None
    source: Annotated[Text | None, doc("What the grade is for; normally class", values=GRADE_SOURCES)] = None
    stage_id: Annotated[Int | None, doc("Stage id")] = None
    owner_id: Annotated[Int | None, doc("Student id")] = None
    name: Annotated[Text | None, doc("Course name")] = None
    csin: Annotated[Text | None, doc("Course code")] = None
    full_score: Annotated[Number | None, doc("Full score")] = None
    score: Annotated[Number | None, doc("Final score given by the teacher; null: not given")] = None
    real_score: Annotated[Number | None, doc("score where given, else suggest_score")] = None
    suggest_score: Annotated[Number | None, doc("Score computed by the platform from all scored items")] = (
        None
    )
    gained_score: Annotated[Number | None, doc("Score computed from all published items")] = None
    gained_score_rate: Annotated[Number | None, doc("gained_score as a rate of the full score")] = None
    level: Annotated[Text | None, doc("Level, e.g. A")] = None
    credit: Annotated[Number | None, doc("Credit")] = None
    gpa: Annotated[Number | None, doc("Grade points")] = None
    rank: Annotated[Int | None, doc("Rank")] = None
    rank_base: Annotated[Int | None, doc("Number ranked")] = None
    status: Annotated[Text | None, doc("Status", values=("pending", "published", "delayed", "passed"))] = None
    pass_status: Annotated[
        Text | None, doc("Pass status", values=("pending", "warning", "passed", "failed"))
    ] = None
    published_at: Annotated[WallClock | None, doc("Published at; null: unpublished")] = None
    review: Annotated[Text | None, doc("Teacher's review", personal=True)] = None
    updated_at: Annotated[WallClock | None, doc("Updated at")] = None
