"""Contracts of base data, assessments and grades, field for field as the interface specification has them.

Only keys are required: a platform that leaves another field out, or sends null, still loads. Timestamps
are the platform's wall clock (Asia/Shanghai). Strings that carry decimals become exact decimals.
"""

from typing import Annotated, ClassVar

from campus.contracts.fields import (
    Contract,
    Flag,
    Int,
    NamedRefs,
    Number,
    People,
    TagRef,
    Text,
    WallClock,
    doc,
)


class School(Contract):
    """A school that the credentials may read."""

    label_zh: ClassVar[str] = "学校"

    id: Annotated[
        Int, doc("School id, sent as the X-School-Id header of every request", privacy="id", label_zh="ID")
    ]
    name: Annotated[
        Text | None, doc("School name, up to 50 characters", privacy="label", label_zh="名称")
    ] = None
    url: Annotated[Text | None, doc("Web address of the school", privacy="label", label_zh="网址")] = None
    district: Annotated[Text | None, doc("Region of the school", privacy="label", label_zh="地区")] = None


class Semester(Contract):
    """A semester of a school; course classes belong to one."""

    label_zh: ClassVar[str] = "学期"

    id: Annotated[Int, doc("Semester id", privacy="id", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    academic_year_id: Annotated[
        Int | None,
        doc("Term id of the academic year (type system.academic_year)", privacy="id", label_zh="学年ID"),
    ] = None
    category_id: Annotated[
        Int | None,
        doc(
            "Term id of the semester category (type system.semester_category)",
            privacy="id",
            label_zh="学期类别ID",
        ),
    ] = None
    name: Annotated[Text | None, doc("Semester name", privacy="label", label_zh="名称")] = None
    start_at: Annotated[
        WallClock | None,
        doc("First moment of the semester; a bare date means midnight", privacy="plain", label_zh="开始时间"),
    ] = None
    end_at: Annotated[
        WallClock | None,
        doc("Last day of the semester; a bare date means midnight", privacy="plain", label_zh="结束时间"),
    ] = None
    is_current: Annotated[
        Flag | None, doc("Whether this is the current semester", privacy="plain", label_zh="是否当前")
    ] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", privacy="id", label_zh="外部ID")] = None


class Term(Contract):
    """An entry of one of the platform's vocabularies: cohorts, academic years, subjects and so on."""

    label_zh: ClassVar[str] = "词条"

    id: Annotated[Int, doc("Term id", privacy="id", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    parent_id: Annotated[Int | None, doc("Parent term id", privacy="id", label_zh="上级ID")] = None
    name: Annotated[Text | None, doc("Term name", privacy="label", label_zh="名称")] = None
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None
    description: Annotated[Text | None, doc("Description", privacy="text", label_zh="说明")] = None
    type: Annotated[
        Text | None,
        doc("Vocabulary, e.g. system.graduates_in or course.subject", privacy="plain", label_zh="类型"),
    ] = None
    weight: Annotated[Int | None, doc("Sort weight", privacy="plain", label_zh="权重")] = None
    archived_at: Annotated[
        WallClock | None,
        doc("When the term was archived; null: in use", privacy="moment", label_zh="归档时间"),
    ] = None


class Structure(Contract):
    """A unit of the school's organisation: headquarters, campus, school level, grade or subject group."""

    label_zh: ClassVar[str] = "组织结构"

    id: Annotated[Int, doc("Structure id", privacy="id", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    parent_id: Annotated[
        Int | None,
        doc(
            "Parent structure id, where the platform sends it",
            privacy="id",
            expected=False,
            label_zh="上级ID",
        ),
    ] = None
    depth: Annotated[Int | None, doc("Depth in the tree", privacy="plain", label_zh="深度")] = None
    seq: Annotated[Int | None, doc("Position among all structures", privacy="plain", label_zh="序号")] = None
    weight: Annotated[Int | None, doc("Sort weight", privacy="plain", label_zh="权重")] = None
    name: Annotated[Text | None, doc("Name", privacy="label", label_zh="名称")] = None
    path: Annotated[Text | None, doc("Path from the root", privacy="label", label_zh="路径")] = None
    type: Annotated[
        Text | None,
        doc(
            "Kind of unit",
            privacy="plain",
            values=("headquarters", "campus", "school_level", "grade", "subject_group"),
            label_zh="类型",
        ),
    ] = None
    graduates_in_id: Annotated[
        Int | None,
        doc("Cohort term id; only for a grade that is mapped to one", privacy="id", label_zh="届别ID"),
    ] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", privacy="id", label_zh="外部ID")] = None
    status: Annotated[
        Text | None, doc("Status", privacy="plain", values=("normal", "archived"), label_zh="状态")
    ] = None
    created_at: Annotated[WallClock | None, doc("Created at", privacy="moment", label_zh="创建时间")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at", privacy="moment", label_zh="更新时间")] = None


class Reflection(Contract):
    """A user of any role, with basic fields only."""

    label_zh: ClassVar[str] = "用户"

    id: Annotated[Int, doc("User id", privacy="person", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    name: Annotated[Text | None, doc("Name", privacy="name", label_zh="名称")] = None
    role: Annotated[
        Text | None,
        doc("Role", privacy="kind", values=("teacher", "student", "staff", "guardian"), label_zh="角色"),
    ] = None
    usin: Annotated[Text | None, doc("Student or staff number", privacy="number", label_zh="学工号")] = None
    phone: Annotated[Text | None, doc("Phone", privacy="phone", label_zh="电话")] = None
    structure_ids: Annotated[
        list[Int] | None, doc("Ids of the user's structures", privacy="id", label_zh="组织ID列表")
    ] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", privacy="number", label_zh="外部ID")] = (
        None
    )
    status: Annotated[
        Text | None, doc("Status; the values are not specified", privacy="plain", enum=True, label_zh="状态")
    ] = None
    deleted_at: Annotated[
        WallClock | None, doc("When the user was deleted; null: alive", privacy="moment", label_zh="删除时间")
    ] = None


class Student(Contract):
    """A student."""

    label_zh: ClassVar[str] = "学生"

    id: Annotated[Int, doc("Student id (also the user id)", privacy="person", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    name: Annotated[Text | None, doc("Name", privacy="name", label_zh="名称")] = None
    role: Annotated[Text | None, doc("Role", privacy="kind", values=("student",), label_zh="角色")] = None
    usin: Annotated[Text | None, doc("Student number", privacy="number", label_zh="学工号")] = None
    structure_ids: Annotated[
        list[Int] | None, doc("Ids of the student's structures", privacy="id", label_zh="组织ID列表")
    ] = None
    pupil_id: Annotated[Int | None, doc("Pupil id", privacy="person", label_zh="学籍ID")] = None
    graduates_in_id: Annotated[Int | None, doc("Cohort term id", privacy="id", label_zh="届别ID")] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", privacy="number", label_zh="外部ID")] = (
        None
    )
    status: Annotated[
        Text | None, doc("Status; the values are not specified", privacy="plain", enum=True, label_zh="状态")
    ] = None
    deleted_at: Annotated[
        WallClock | None,
        doc(
            "When the student was deleted, where the platform shows it",
            privacy="moment",
            expected=False,
            label_zh="删除时间",
        ),
    ] = None


class Teacher(Contract):
    """A teacher."""

    label_zh: ClassVar[str] = "教师"

    id: Annotated[Int, doc("Teacher id (also the user id)", privacy="person", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    name: Annotated[Text | None, doc("Name", privacy="name", label_zh="名称")] = None
    role: Annotated[Text | None, doc("Role", privacy="kind", values=("teacher",), label_zh="角色")] = None
    usin: Annotated[Text | None, doc("Staff number", privacy="number", label_zh="学工号")] = None
    phone: Annotated[Text | None, doc("Phone", privacy="phone", label_zh="电话")] = None
    structure_ids: Annotated[
        list[Int] | None, doc("Ids of the teacher's structures", privacy="id", label_zh="组织ID列表")
    ] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", privacy="number", label_zh="外部ID")] = (
        None
    )
    department_names: Annotated[
        list[Text] | None, doc("Names of the teacher's departments", privacy="label", label_zh="部门")
    ] = None
    status: Annotated[
        Text | None, doc("Status; the values are not specified", privacy="plain", enum=True, label_zh="状态")
    ] = None
    deleted_at: Annotated[
        WallClock | None,
        doc(
            "When the teacher was deleted, where the platform shows it",
            privacy="moment",
            expected=False,
            label_zh="删除时间",
        ),
    ] = None


class AdminClass(Contract):
    """An administrative class: the group that a student belongs to for years."""

    label_zh: ClassVar[str] = "行政班"

    id: Annotated[Int, doc("Administrative class id", privacy="id", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    name: Annotated[
        Text | None, doc("Name; unique only together with its cohort", privacy="label", label_zh="名称")
    ] = None
    graduates_in_id: Annotated[Int | None, doc("Cohort term id", privacy="id", label_zh="届别ID")] = None
    structure_ids: Annotated[
        list[Int] | None, doc("Ids of the class's structures", privacy="id", label_zh="组织ID列表")
    ] = None
    place_id: Annotated[Int | None, doc("Classroom id", privacy="id", label_zh="场所ID")] = None
    teacher_ids: Annotated[
        list[Int] | None, doc("Ids of head and deputy teachers", privacy="person", label_zh="教师ID列表")
    ] = None
    teachers: Annotated[
        People | None,
        doc(
            "Head and deputy teachers, where the platform sends them",
            privacy="mixed",
            expected=False,
            label_zh="教师",
        ),
    ] = None
    students: Annotated[
        People | None,
        doc(
            "Students of the present; null where the platform does not say",
            privacy="mixed",
            expected=False,
            label_zh="学生",
        ),
    ] = None
    student_nums: Annotated[
        Int | None, doc("Number of students", privacy="plain", label_zh="学生数", unit="students")
    ] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", privacy="id", label_zh="外部ID")] = None
    status: Annotated[
        Text | None, doc("Status; the values are not specified", privacy="plain", enum=True, label_zh="状态")
    ] = None


class CourseClass(Contract):
    """A course class: one subject taught to one group in one semester."""

    label_zh: ClassVar[str] = "课程班"

    id: Annotated[Int, doc("Course class id", privacy="id", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    semester_id: Annotated[Int | None, doc("Semester id", privacy="id", label_zh="学期ID")] = None
    csin: Annotated[Text | None, doc("Unique course code", privacy="label", label_zh="课程班编号")] = None
    name: Annotated[Text | None, doc("Course name", privacy="label", label_zh="名称")] = None
    class_name: Annotated[
        Text | None, doc("Class name within the course", privacy="label", label_zh="课程班")
    ] = None
    grade_ids: Annotated[
        list[Int] | None, doc("Ids of the grades taught", privacy="id", label_zh="年级ID列表")
    ] = None
    grades: Annotated[
        NamedRefs | None,
        doc("Grades taught, where the platform sends them", privacy="label", expected=False, label_zh="年级"),
    ] = None
    subject_id: Annotated[
        Int | None, doc("Subject term id (type course.subject)", privacy="id", label_zh="学科ID")
    ] = None
    domain_id: Annotated[
        Int | None, doc("Domain term id (type course.domain)", privacy="id", label_zh="领域ID")
    ] = None
    structure_ids: Annotated[
        list[Int] | None, doc("Ids of the class's structures", privacy="id", label_zh="组织ID列表")
    ] = None
    admin_class_ids: Annotated[
        list[Int] | None,
        doc("Ids of the administrative classes taught", privacy="id", label_zh="行政班ID列表"),
    ] = None
    teachers: Annotated[
        People | None,
        doc(
            "Teachers; only the id is set where the platform sends bare ids", privacy="mixed", label_zh="教师"
        ),
    ] = None
    students: Annotated[
        People | None,
        doc(
            "Students, where the platform sends them; null where it does not say; see class_members",
            privacy="mixed",
            expected=False,
            label_zh="学生",
        ),
    ] = None
    created_at: Annotated[WallClock | None, doc("Created at", privacy="moment", label_zh="创建时间")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at", privacy="moment", label_zh="更新时间")] = None
    deleted_at: Annotated[
        WallClock | None,
        doc(
            "When the class was deleted, where the platform shows it",
            privacy="moment",
            expected=False,
            label_zh="删除时间",
        ),
    ] = None


class ClassMember(Contract):
    """A person's membership of a course class (a class selection)."""

    label_zh: ClassVar[str] = "课程班成员"

    type: Annotated[
        Text, doc("Kind of member; the values are not specified", privacy="plain", enum=True, label_zh="类型")
    ]
    reflection_id: Annotated[Int, doc("User id of the member", privacy="person", label_zh="用户ID")]
    class_id: Annotated[
        Int | None,
        doc(
            "Course class id; from the request where the response leaves it out",
            privacy="id",
            expected=False,
            label_zh="课程班ID",
        ),
    ] = None
    membership: Annotated[
        Int | None,
        doc(
            "Which of the member's memberships of this class: 1 the last, 2 the one before; ours",
            privacy="plain",
            expected=False,
            label_zh="倒数第几次在班",
        ),
    ] = None
    class_together: Annotated[
        Flag | None, doc("Studies together with the class", privacy="plain", label_zh="是否走班同学")
    ] = None
    deleted_at: Annotated[
        WallClock | None,
        doc("When the membership ended; null: a member", privacy="moment", label_zh="删除时间"),
    ] = None
    created_at: Annotated[WallClock | None, doc("Created at", privacy="moment", label_zh="创建时间")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at", privacy="moment", label_zh="更新时间")] = None


class Assessment(Contract):
    """The assessment of a course class; it has items, each with scores, and gives one grade a student."""

    label_zh: ClassVar[str] = "评价"

    id: Annotated[Int, doc("Assessment id", privacy="id", label_zh="ID")]
    class_id: Annotated[
        Int | None,
        doc("Course class id, from the request", privacy="id", expected=False, label_zh="课程班ID"),
    ] = None
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    semester_id: Annotated[Int | None, doc("Semester id", privacy="id", label_zh="学期ID")] = None
    type: Annotated[
        Text | None,
        doc("Kind of assessment; the values are not specified", privacy="plain", enum=True, label_zh="类型"),
    ] = None
    name: Annotated[Text | None, doc("Name", privacy="label", label_zh="名称")] = None
    scope_type: Annotated[
        Text | None,
        doc(
            "What scope_id points to; the values are not specified",
            privacy="plain",
            enum=True,
            label_zh="范围类型",
        ),
    ] = None
    scope_id: Annotated[
        Int | None, doc("Id of the course class assessed", privacy="id", expected=False, label_zh="范围ID")
    ] = None
    status: Annotated[
        Text | None, doc("Status; the values are not specified", privacy="plain", enum=True, label_zh="状态")
    ] = None
    full_score: Annotated[
        Number | None, doc("Full score", privacy="plain", mark=True, label_zh="满分", unit="points")
    ] = None
    item_num: Annotated[
        Int | None,
        doc(
            "Number of items, as the platform counts them", privacy="plain", label_zh="评价项数", unit="items"
        ),
    ] = None
    published_at: Annotated[
        WallClock | None, doc("Published at; null: unpublished", privacy="moment", label_zh="发布时间")
    ] = None
    updated_at: Annotated[WallClock | None, doc("Updated at", privacy="moment", label_zh="更新时间")] = None


SCORE_KINDS = ("score", "star", "level")


class AssessmentItem(Contract):
    """An item of an assessment; items form a tree of one to three levels."""

    label_zh: ClassVar[str] = "评价项"

    id: Annotated[Int, doc("Item id", privacy="id", label_zh="ID")]
    assessment_id: Annotated[Int | None, doc("Assessment id", privacy="id", label_zh="评价ID")] = None
    pid: Annotated[Int | None, doc("Parent item id; 0 at the top", privacy="id", label_zh="上级评价项ID")] = (
        None
    )
    type: Annotated[
        Text | None,
        doc(
            "Kind of item",
            privacy="plain",
            values=("dimension", "sub_dimension", "item", "special_item", "attendance_item"),
            label_zh="类型",
        ),
    ] = None
    name: Annotated[Text | None, doc("Name", privacy="label", label_zh="名称")] = None
    description: Annotated[Text | None, doc("Description", privacy="text", label_zh="说明")] = None
    sort: Annotated[Int | None, doc("Position among its siblings", privacy="plain", label_zh="排序")] = None
    full_score: Annotated[
        Number | None, doc("Full score", privacy="plain", mark=True, label_zh="满分", unit="points")
    ] = None
    initial_score: Annotated[
        Number | None,
        doc(
            "Score that each student starts with",
            privacy="plain",
            mark=True,
            label_zh="初始分",
            unit="points",
        ),
    ] = None
    weight: Annotated[Int | None, doc("Weight in the parent's score", privacy="plain", label_zh="权重")] = (
        None
    )
    stage_id: Annotated[Int | None, doc("Stage id", privacy="id", label_zh="阶段ID")] = None
    scoring_type: Annotated[
        Text | None,
        doc(
            "How it is scored",
            privacy="plain",
            values=(*SCORE_KINDS, "addition", "tag", "review"),
            label_zh="评分方式",
        ),
    ] = None
    display_type: Annotated[
        Text | None, doc("How it is shown", privacy="plain", values=SCORE_KINDS, label_zh="显示方式")
    ] = None
    tags: Annotated[
        list[TagRef] | None, doc("Tags that a score of this item may carry", privacy="label", label_zh="标签")
    ] = None
    published_at: Annotated[
        WallClock | None, doc("Published at; null: unpublished", privacy="moment", label_zh="发布时间")
    ] = None


class Score(Contract):
    """One score of one student for one item."""

    label_zh: ClassVar[str] = "评价项得分"

    id: Annotated[Int, doc("Score id", privacy="record", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    assessment_id: Annotated[Int | None, doc("Assessment id", privacy="id", label_zh="评价ID")] = None
    item_id: Annotated[Int | None, doc("Item id", privacy="id", label_zh="评价项ID")] = None
    type: Annotated[
        Text | None, doc("Kind of score", privacy="plain", values=("raw", "item_score"), label_zh="类型")
    ] = None
    owner_id: Annotated[Int | None, doc("Student id", privacy="person", label_zh="学生ID")] = None
    evaluator_id: Annotated[
        Int | None,
        doc(
            "Evaluator's user id; null for additions and initial scores",
            privacy="person",
            label_zh="评分人ID",
        ),
    ] = None
    valid: Annotated[
        Flag | None, doc("Whether it takes part in the evaluation", privacy="plain", label_zh="是否有效")
    ] = None
    invalid_type_id: Annotated[Int | None, doc("Kind of invalidity", privacy="id", label_zh="无效类型ID")] = (
        None
    )
    invalid_reason: Annotated[Text | None, doc("Why it is invalid", privacy="text", label_zh="无效原因")] = (
        None
    )
    score: Annotated[
        Number | None,
        doc(
            "Score; null: not scored, 0: zero points",
            privacy="plain",
            mark=True,
            label_zh="得分",
            unit="points",
        ),
    ] = None
    gained_score: Annotated[
        Number | None, doc("Score gained", privacy="plain", mark=True, label_zh="已得分数", unit="points")
    ] = None
    tag: Annotated[Text | None, doc("Tag, one of its item's", privacy="label", label_zh="标签")] = None
    review: Annotated[Text | None, doc("Evaluator's review", privacy="text", label_zh="评语")] = None
    self_review: Annotated[Text | None, doc("Student's own review", privacy="text", label_zh="自评")] = None
    rank: Annotated[Int | None, doc("Rank", privacy="plain", label_zh="名次")] = None
    rank_base: Annotated[Int | None, doc("Number ranked", privacy="plain", label_zh="参评人数")] = None
    status: Annotated[
        Text | None, doc("Status; the values are not specified", privacy="plain", enum=True, label_zh="状态")
    ] = None
    published_at: Annotated[
        WallClock | None, doc("Published at; null: unpublished", privacy="moment", label_zh="发布时间")
    ] = None
    created_at: Annotated[WallClock | None, doc("Created at", privacy="moment", label_zh="创建时间")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at", privacy="moment", label_zh="更新时间")] = None


GRADE_SOURCES = ("class", "moral", "dorm", "custom", "teacher_assessment", "awarded_credit", "stage")


class Grade(Contract):
    """The total grade of one student for one assessment."""

    label_zh: ClassVar[str] = "总成绩"

    id: Annotated[Int, doc("Grade id", privacy="record", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    semester_id: Annotated[Int | None, doc("Semester id", privacy="id", label_zh="学期ID")] = None
    source_id: Annotated[
        Int | None, doc("Assessment id (not a class id)", privacy="id", label_zh="来源ID")
    ] = None
    source: Annotated[
        Text | None,
        doc("What the grade is for; normally class", privacy="plain", values=GRADE_SOURCES, label_zh="来源"),
    ] = None
    stage_id: Annotated[Int | None, doc("Stage id", privacy="id", label_zh="阶段ID")] = None
    owner_id: Annotated[Int | None, doc("Student id", privacy="person", label_zh="学生ID")] = None
    name: Annotated[Text | None, doc("Course name", privacy="label", label_zh="名称")] = None
    csin: Annotated[Text | None, doc("Course code", privacy="label", label_zh="课程班编号")] = None
    full_score: Annotated[
        Number | None, doc("Full score", privacy="plain", mark=True, label_zh="满分", unit="points")
    ] = None
    score: Annotated[
        Number | None,
        doc(
            "Final score given by the teacher; null: not given",
            privacy="plain",
            mark=True,
            label_zh="得分",
            unit="points",
        ),
    ] = None
    real_score: Annotated[
        Number | None,
        doc(
            "score where given, else suggest_score",
            privacy="plain",
            mark=True,
            label_zh="实际得分",
            unit="points",
        ),
    ] = None
    suggest_score: Annotated[
        Number | None,
        doc(
            "Score computed by the platform from all scored items",
            privacy="plain",
            mark=True,
            label_zh="系统评分",
            unit="points",
        ),
    ] = None
    gained_score: Annotated[
        Number | None,
        doc(
            "Score computed from all published items",
            privacy="plain",
            mark=True,
            label_zh="已得分数",
            unit="points",
        ),
    ] = None
    gained_score_rate: Annotated[
        Number | None,
        doc(
            "gained_score as a share of the full score, 0 to 1",
            privacy="plain",
            mark=True,
            rate="share",
            label_zh="已得分率",
        ),
    ] = None
    level: Annotated[Text | None, doc("Level, e.g. A", privacy="plain", label_zh="等第")] = None
    credit: Annotated[
        Number | None, doc("Credit", privacy="plain", mark=True, label_zh="学分", unit="credits")
    ] = None
    gpa: Annotated[Number | None, doc("Grade points", privacy="plain", mark=True, label_zh="绩点")] = None
    rank: Annotated[Int | None, doc("Rank", privacy="plain", label_zh="名次")] = None
    rank_base: Annotated[Int | None, doc("Number ranked", privacy="plain", label_zh="参评人数")] = None
    status: Annotated[
        Text | None,
        doc("Status", privacy="plain", values=("pending", "published", "delayed", "passed"), label_zh="状态"),
    ] = None
    pass_status: Annotated[
        Text | None,
        doc(
            "Pass status",
            privacy="plain",
            values=("pending", "warning", "passed", "failed"),
            label_zh="合格状态",
        ),
    ] = None
    published_at: Annotated[
        WallClock | None, doc("Published at; null: unpublished", privacy="moment", label_zh="发布时间")
    ] = None
    review: Annotated[Text | None, doc("Teacher's review", privacy="text", label_zh="评语")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at", privacy="moment", label_zh="更新时间")] = None
