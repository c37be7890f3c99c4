"""Contracts of people in the v1 generation: users, students as others show them, cards, transcripts."""

import datetime as dt
from typing import Annotated, ClassVar

import pyarrow as pa

from campus.contracts.fields import Contract, Flag, Int, Mark, Number, Text, WallClock, doc

# Roles of users.
STUDENT, GUARDIAN = 1, 8


class Who(Contract):
    """The user behind a person inside another object."""

    id: Int | None = None
    name: Text | None = None
    usin: Text | None = None


class Person(Contract):
    """A user inside another object."""

    id: Int | None = None
    rid: Int | None = None
    name: Text | None = None
    usin: Text | None = None
    pinyin: Text | None = None
    avatar_url: Text | None = None
    gender: Text | None = None
    gender_label: Text | None = None
    status: Int | None = None
    status_label: Text | None = None
    graduates_label: Text | None = None
    grade_name: Text | None = None
    reflection: Who | None = None


# Platforms that send bare ids give only the id.
Persons = list[Int | Person]


class UserField(Contract):
    """A custom field of users; its values are columns of v1_users."""

    label_zh: ClassVar[str] = "用户自定义字段"

    name: Annotated[Text, doc("Name: the key in users and the column of v1_users", label_zh="名称")]
    role: Annotated[Int, doc("Whose field it is: 1 students, 2 teachers", label_zh="角色")]
    label: Annotated[Text | None, doc("Display name", label_zh="显示名称")] = None
    type: Annotated[Int | None, doc("1 text, 2 one of `options`", label_zh="类型")] = None
    options: Annotated[
        list[Text] | None, doc("Allowed values of type 2", expected=False, label_zh="选项")
    ] = None


class User(Contract):
    """A user of the v1 generation (a reflection), guardians included. Each custom field of the school's
    user_fields is a column."""

    label_zh: ClassVar[str] = "用户（v1）"

    id: Annotated[Int, doc("User id", label_zh="ID")]
    usin: Annotated[Text | None, doc("Student or staff number", personal=True, label_zh="学工号")] = None
    name: Annotated[Text | None, doc("Name", personal=True, label_zh="名称")] = None
    gender: Annotated[
        Text | None, doc("m male, f female, u unknown", values=("m", "f", "u"), label_zh="性别")
    ] = None
    avatar_url: Annotated[Text | None, doc("Address of the photo", personal=True, label_zh="头像地址")] = None
    role: Annotated[Int | None, doc("1 student, 2 teacher, 8 guardian", label_zh="角色")] = None
    email: Annotated[Text | None, doc("Email", personal=True, label_zh="电子邮箱")] = None
    phone: Annotated[Text | None, doc("Phone", personal=True, label_zh="电话")] = None
    graduates_in: Annotated[Int | None, doc("Graduating year of a student", label_zh="毕业年份")] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", personal=True, label_zh="外部ID")] = None
    duration: Annotated[Int | None, doc("Years of schooling", label_zh="课时或学制")] = None
    entered_at: Annotated[dt.date | None, doc("Date of enrolment", label_zh="入学日期")] = None
    idcard: Annotated[
        None,
        doc(
            "National id number; null unless CAMPUS_KEEP_ID_NUMBERS asks for it",
            personal=True,
            expected=False,
            arrow=pa.string(),
            label_zh="身份证号",
        ),
    ] = None
    status: Annotated[Int | None, doc("1 normal, 2 archived, 4 disabled", label_zh="状态")] = None
    student_id: Annotated[
        Int | None, doc("Student of a guardian account", personal=True, label_zh="学生ID")
    ] = None
    guardian_role: Annotated[
        Int | None, doc("1 father, 2 mother, 0 other", personal=True, label_zh="监护人关系")
    ] = None


class StudentProfile(Contract):
    """A student as cards and classes show one. `student_id`: rid where the platform sends it, else id."""

    of_person: ClassVar[tuple[str, ...]] = (
        "rid",
        "id",
        "name",
        "usin",
        "pinyin",
        "avatar_url",
        "gender",
        "gender_label",
        "status",
        "status_label",
        "graduates_label",
        "grade_name",
    )

    student_id: Annotated[
        Int | None, doc("Student id: rid or id, whichever is sent", expected=False, label_zh="学生ID")
    ] = None
    rid: Annotated[
        Int | None, doc("Student id as the attendance parameter", expected=False, label_zh="学生ID")
    ] = None
    id: Annotated[Int | None, doc("User id", expected=False, label_zh="ID")] = None
    name: Annotated[Text | None, doc("Name", personal=True, label_zh="名称")] = None
    usin: Annotated[Text | None, doc("Student number", personal=True, label_zh="学工号")] = None
    pinyin: Annotated[Text | None, doc("Name in pinyin", personal=True, expected=False, label_zh="拼音")] = (
        None
    )
    avatar_url: Annotated[Text | None, doc("Address of the photo", personal=True, label_zh="头像地址")] = None
    gender: Annotated[Text | None, doc("m, f, or u unknown", values=("m", "f", "u"), label_zh="性别")] = None
    gender_label: Annotated[Text | None, doc("Gender in words", label_zh="性别文本")] = None
    status: Annotated[
        Int | None, doc("1 normal, 2 archived, 4 disabled", expected=False, label_zh="状态")
    ] = None
    status_label: Annotated[Text | None, doc("Status in words", label_zh="状态文本")] = None
    graduates_label: Annotated[Text | None, doc("Cohort in words", label_zh="届别文本")] = None
    grade_name: Annotated[Text | None, doc("Grade", expected=False, label_zh="年级")] = None


class ClassStudent(StudentProfile):
    """A student of a teaching class of the v1 generation."""

    label_zh: ClassVar[str] = "教学班学生（v1）"

    class_id: Annotated[
        Int | None, doc("Class id, supplied by the question", expected=False, label_zh="课程班ID")
    ] = None


class Card(StudentProfile):
    """A student card that CAMPUS_CARD_IDS names, and the student it is bound to."""

    label_zh: ClassVar[str] = "学生卡"

    card_id: Annotated[
        Text | None, doc("Card id, as the setting has it", personal=True, expected=False, label_zh="卡号")
    ] = None
    state: Annotated[
        Text | None, doc("bound, or unbound (the platform answers 404)", expected=False, label_zh="状态")
    ] = None


class Transcript(Contract):
    """A student's transcript over all semesters; its semesters and courses are tables of their own."""

    label_zh: ClassVar[str] = "成绩单"

    student_id: Annotated[
        Int | None, doc("Student id, supplied by the question", expected=False, label_zh="学生ID")
    ] = None
    grade_point_average: Annotated[
        Number | None, doc("Grade point average", mark=True, label_zh="平均绩点")
    ] = None
    average_score: Annotated[
        Number | None, doc("Average score", mark=True, label_zh="平均分", unit="points")
    ] = None
    total_credit: Annotated[
        Number | None, doc("Credits attempted", mark=True, label_zh="总学分", unit="credits")
    ] = None
    should_gained_credit: Annotated[
        Number | None,
        doc("Credits that should have been gained", mark=True, label_zh="应获学分", unit="credits"),
    ] = None
    gained_credit: Annotated[
        Number | None, doc("Credits gained", mark=True, label_zh="已获学分", unit="credits")
    ] = None


class TranscriptSemester(Contract):
    """One semester of a student's transcript."""

    label_zh: ClassVar[str] = "成绩单学期"

    student_id: Annotated[
        Int | None, doc("Student id, supplied by the question", expected=False, label_zh="学生ID")
    ] = None
    semester_id: Annotated[Int | None, doc("Semester id", expected=False, label_zh="学期ID")] = None
    total_grades: Annotated[
        Number | None, doc("Sum of the scores", mark=True, label_zh="总分", unit="points")
    ] = None
    grade_point_average: Annotated[
        Number | None, doc("Grade point average", mark=True, label_zh="平均绩点")
    ] = None
    total_credit: Annotated[
        Number | None, doc("Credits attempted", mark=True, label_zh="总学分", unit="credits")
    ] = None
    gained_credit: Annotated[
        Number | None, doc("Credits gained", mark=True, label_zh="已获学分", unit="credits")
    ] = None


class TranscriptCourse(Contract):
    """One course of a student's transcript."""

    label_zh: ClassVar[str] = "成绩单课程"

    student_id: Annotated[
        Int | None, doc("Student id, supplied by the question", expected=False, label_zh="学生ID")
    ] = None
    semester_id: Annotated[Int | None, doc("Semester id", expected=False, label_zh="学期ID")] = None
    source_id: Annotated[Int | None, doc("Id of what the grade is from; 0: none", label_zh="来源ID")] = None
    entry: Annotated[
        Int | None,
        doc(
            "Which of the semester's courses with this source and code, from 1; ours",
            expected=False,
            label_zh="同源课程序号",
        ),
    ] = None
    credit: Annotated[Number | None, doc("Credit", mark=True, label_zh="学分", unit="credits")] = None
    name: Annotated[Text | None, doc("Course name", label_zh="名称")] = None
    csin: Annotated[Text | None, doc("Course code", label_zh="课程班编号")] = None
    teachers: Annotated[Text | None, doc("Names of the teachers", personal=True, label_zh="教师")] = None
    subject: Annotated[Text | None, doc("Subject", label_zh="学科")] = None
    attribute: Annotated[Text | None, doc("Course attribute", label_zh="课程属性")] = None
    start_at: Annotated[
        Int | None, doc("First week; a date stays in `_extra`", assumed=True, label_zh="开始时间")
    ] = None
    end_in: Annotated[
        Int | None, doc("Last week; a date stays in `_extra`", assumed=True, label_zh="结束周或日期")
    ] = None
    gained_credit: Annotated[
        Number | None, doc("Credit gained", mark=True, label_zh="已获学分", unit="credits")
    ] = None
    class_id: Annotated[Int | None, doc("Class id in the v1 generation", label_zh="课程班ID")] = None
    published: Annotated[Flag | None, doc("Whether the grade is published", label_zh="是否发布")] = None
    published_at: Annotated[WallClock | None, doc("Published at; null: unpublished", label_zh="发布时间")] = (
        None
    )
    evaluation: Annotated[
        dict[str, Mark | None] | None,
        doc(
            "100 total score, abc level, gpa, rank, all as text; a dash is null, and kept in `_extra`",
            label_zh="评定",
        ),
    ] = None
    class_name: Annotated[Text | None, doc("Class name within the course", label_zh="课程班")] = None
    subject_en: Annotated[Text | None, doc("Subject in English", label_zh="学科（英文）")] = None
