"""Contracts of people in the v1 interface: users, students inside classes and cards, transcripts."""

import datetime as dt
from typing import Annotated, ClassVar

import pyarrow as pa

from campus.contracts.fields import Contract, Flag, Int, Mark, Number, Text, WallClock, doc

# Roles of users.
STUDENT, GUARDIAN = 1, 8


class NestedUser(Contract):
    """The user inside a person's `reflection`."""

    id: Int | None = None
    name: Text | None = None
    usin: Text | None = None


class Person(Contract):
    """A person inside another object, such as the director inside an administrative class."""

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
    reflection: NestedUser | None = None


# Some platforms send only the id of a person.
Persons = list[Int | Person]


class UserField(Contract):
    """A custom field of users; its values are columns of v1_users."""

    label_zh: ClassVar[str] = "用户自定义字段"

    name: Annotated[
        Text, doc("Name: the key in users and the column of v1_users", privacy="label", label_zh="名称")
    ]
    role: Annotated[Int, doc("Whose field it is: 1 students, 2 teachers", privacy="plain", label_zh="角色")]
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None
    type: Annotated[Int | None, doc("1 text, 2 one of `options`", privacy="plain", label_zh="类型")] = None
    options: Annotated[
        list[Text] | None, doc("Allowed values of type 2", privacy="label", expected=False, label_zh="选项")
    ] = None


class User(Contract):
    """A user of the v1 interface (a reflection), guardians included. Each custom field of the school's
    user_fields is a column."""

    label_zh: ClassVar[str] = "用户（v1）"

    id: Annotated[Int, doc("User id", privacy="person", label_zh="ID")]
    usin: Annotated[Text | None, doc("Student or staff number", privacy="number", label_zh="学工号")] = None
    name: Annotated[Text | None, doc("Name", privacy="name", label_zh="名称")] = None
    gender: Annotated[
        Text | None,
        doc("m male, f female, u unknown", privacy="trait", values=("m", "f", "u"), label_zh="性别"),
    ] = None
    avatar_url: Annotated[Text | None, doc("Address of the photo", privacy="photo", label_zh="头像地址")] = (
        None
    )
    role: Annotated[Int | None, doc("1 student, 2 teacher, 8 guardian", privacy="kind", label_zh="角色")] = (
        None
    )
    email: Annotated[Text | None, doc("Email", privacy="email", label_zh="电子邮箱")] = None
    phone: Annotated[Text | None, doc("Phone", privacy="phone", label_zh="电话")] = None
    graduates_in: Annotated[
        Int | None, doc("Graduating year of a student", privacy="plain", label_zh="毕业年份")
    ] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", privacy="number", label_zh="外部ID")] = (
        None
    )
    duration: Annotated[Int | None, doc("Years of schooling", privacy="plain", label_zh="学制")] = None
    entered_at: Annotated[dt.date | None, doc("Date of enrolment", privacy="trait", label_zh="入学日期")] = (
        None
    )
    idcard: Annotated[
        None,
        doc(
            "National id number; null unless CAMPUS_KEEP_ID_NUMBERS=true",
            privacy="number",
            expected=False,
            arrow=pa.string(),
            label_zh="身份证号",
        ),
    ] = None
    status: Annotated[
        Int | None, doc("1 normal, 2 archived, 4 disabled", privacy="plain", label_zh="状态")
    ] = None
    student_id: Annotated[
        Int | None, doc("Student of a guardian account", privacy="guardian", label_zh="学生ID")
    ] = None
    guardian_role: Annotated[
        Int | None, doc("1 father, 2 mother, 0 other", privacy="guardian", label_zh="监护人关系")
    ] = None


class StudentProfile(Contract):
    """A student inside a card or a class. `student_id`: rid where the platform sends it, else id."""

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
        Int | None,
        doc("Student id: rid or id, whichever is sent", privacy="person", expected=False, label_zh="学生ID"),
    ] = None
    rid: Annotated[
        Int | None,
        doc("Student id as the attendance parameter", privacy="person", expected=False, label_zh="学生ID"),
    ] = None
    id: Annotated[Int | None, doc("User id", privacy="person", expected=False, label_zh="ID")] = None
    name: Annotated[Text | None, doc("Name", privacy="name", label_zh="名称")] = None
    usin: Annotated[Text | None, doc("Student number", privacy="number", label_zh="学工号")] = None
    pinyin: Annotated[Text | None, doc("Name in pinyin", privacy="name", expected=False, label_zh="拼音")] = (
        None
    )
    avatar_url: Annotated[Text | None, doc("Address of the photo", privacy="photo", label_zh="头像地址")] = (
        None
    )
    gender: Annotated[
        Text | None, doc("m, f, or u unknown", privacy="trait", values=("m", "f", "u"), label_zh="性别")
    ] = None
    gender_label: Annotated[Text | None, doc("Gender in words", privacy="trait", label_zh="性别文本")] = None
    status: Annotated[
        Int | None, doc("1 normal, 2 archived, 4 disabled", privacy="plain", expected=False, label_zh="状态")
    ] = None
    status_label: Annotated[Text | None, doc("Status in words", privacy="plain", label_zh="状态文本")] = None
    graduates_label: Annotated[Text | None, doc("Cohort in words", privacy="label", label_zh="届别文本")] = (
        None
    )
    grade_name: Annotated[Text | None, doc("Grade", privacy="label", expected=False, label_zh="年级")] = None


class ClassStudent(StudentProfile):
    """A student of a teaching class of the v1 interface."""

    label_zh: ClassVar[str] = "教学班学生（v1）"

    class_id: Annotated[
        Int | None,
        doc("Class id, from the request", privacy="id", expected=False, label_zh="课程班ID"),
    ] = None


class Card(StudentProfile):
    """A student card that CAMPUS_CARD_IDS names, and the student it is bound to."""

    label_zh: ClassVar[str] = "学生卡"

    card_id: Annotated[
        Text | None,
        doc("Card id, as in CAMPUS_CARD_IDS", privacy="number", expected=False, label_zh="卡号"),
    ] = None
    state: Annotated[
        Text | None,
        doc("bound, or unbound (the platform answers 404)", privacy="plain", expected=False, label_zh="状态"),
    ] = None


class Transcript(Contract):
    """A student's transcript over all semesters; its semesters and courses are tables of their own."""

    label_zh: ClassVar[str] = "成绩单"

    student_id: Annotated[
        Int | None,
        doc("Student id, from the request", privacy="person", expected=False, label_zh="学生ID"),
    ] = None
    grade_point_average: Annotated[
        Number | None, doc("Grade point average", privacy="plain", mark=True, label_zh="平均绩点")
    ] = None
    average_score: Annotated[
        Number | None, doc("Average score", privacy="plain", mark=True, label_zh="平均分", unit="points")
    ] = None
    total_credit: Annotated[
        Number | None, doc("Credits attempted", privacy="plain", mark=True, label_zh="总学分", unit="credits")
    ] = None
    should_gained_credit: Annotated[
        Number | None,
        doc(
            "Credits that should have been gained",
            privacy="plain",
            mark=True,
            label_zh="应获学分",
            unit="credits",
        ),
    ] = None
    gained_credit: Annotated[
        Number | None, doc("Credits gained", privacy="plain", mark=True, label_zh="已获学分", unit="credits")
    ] = None


class TranscriptSemester(Contract):
    """One semester of a student's transcript."""

    label_zh: ClassVar[str] = "成绩单学期"

    student_id: Annotated[
        Int | None,
        doc("Student id, from the request", privacy="person", expected=False, label_zh="学生ID"),
    ] = None
    semester_id: Annotated[
        Int | None, doc("Semester id", privacy="id", expected=False, label_zh="学期ID")
    ] = None
    total_grades: Annotated[
        Number | None, doc("Sum of the scores", privacy="plain", mark=True, label_zh="总分", unit="points")
    ] = None
    grade_point_average: Annotated[
        Number | None, doc("Grade point average", privacy="plain", mark=True, label_zh="平均绩点")
    ] = None
    total_credit: Annotated[
        Number | None, doc("Credits attempted", privacy="plain", mark=True, label_zh="总学分", unit="credits")
    ] = None
    gained_credit: Annotated[
        Number | None, doc("Credits gained", privacy="plain", mark=True, label_zh="已获学分", unit="credits")
    ] = None


class TranscriptCourse(Contract):
    """One course of a student's transcript."""

    label_zh: ClassVar[str] = "成绩单课程"

    student_id: Annotated[
        Int | None,
        doc("Student id, from the request", privacy="person", expected=False, label_zh="学生ID"),
    ] = None
    semester_id: Annotated[
        Int | None, doc("Semester id", privacy="id", expected=False, label_zh="学期ID")
    ] = None
    source_id: Annotated[
        Int | None,
        doc("Id of the grade's source; 0: none", privacy="id", label_zh="来源ID"),
    ] = None
    entry: Annotated[
        Int | None,
        doc(
            "Number, from 1, that tells courses with the same semester, source and code apart; not sent by "
            "the platform",
            privacy="plain",
            expected=False,
            label_zh="同源课程序号",
        ),
    ] = None
    credit: Annotated[
        Number | None, doc("Credit", privacy="plain", mark=True, label_zh="学分", unit="credits")
    ] = None
    name: Annotated[Text | None, doc("Course name", privacy="label", label_zh="名称")] = None
    csin: Annotated[Text | None, doc("Course code", privacy="label", label_zh="课程班编号")] = None
    teachers: Annotated[Text | None, doc("Names of the teachers", privacy="name", label_zh="教师")] = None
    subject: Annotated[Text | None, doc("Subject", privacy="label", label_zh="学科")] = None
    attribute: Annotated[Text | None, doc("Course attribute", privacy="label", label_zh="课程属性")] = None
    start_at: Annotated[
        Int | None,
        doc("First week; a date stays in `_extra`", privacy="plain", assumed=True, label_zh="开始时间"),
    ] = None
    end_in: Annotated[
        Int | None,
        doc("Last week; a date stays in `_extra`", privacy="plain", assumed=True, label_zh="结束周或日期"),
    ] = None
    gained_credit: Annotated[
        Number | None, doc("Credit gained", privacy="plain", mark=True, label_zh="已获学分", unit="credits")
    ] = None
    class_id: Annotated[
        Int | None, doc("Class id in the v1 interface", privacy="id", label_zh="课程班ID")
    ] = None
    published: Annotated[
        Flag | None, doc("Whether the grade is published", privacy="plain", label_zh="是否发布")
    ] = None
    published_at: Annotated[
        WallClock | None, doc("Published at; null: unpublished", privacy="moment", label_zh="发布时间")
    ] = None
    evaluation: Annotated[
        dict[str, Mark | None] | None,
        doc(
            "By key, as text: 100 (total score), abc (level), gpa, rank; a dash is null, kept in `_extra`",
            privacy="plain",
            label_zh="评定",
        ),
    ] = None
    class_name: Annotated[
        Text | None, doc("Class name within the course", privacy="label", label_zh="课程班")
    ] = None
    subject_en: Annotated[
        Text | None, doc("Subject in English", privacy="label", label_zh="学科（英文）")
    ] = None
