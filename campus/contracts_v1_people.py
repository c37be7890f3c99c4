"""Contracts of people in the v1 generation: users, students as others show them, cards, transcripts."""

import datetime as dt
from typing import Annotated

import pyarrow as pa

from campus.contract import Contract, Flag, Int, Mark, Number, Text, WallClock, doc


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


class UserField(Contract):
    """A custom field of users; its values are columns of v1_users."""

    name: Annotated[Text, doc("Name: the key in users and the column of v1_users")]
    role: Annotated[Int, doc("Whose field it is: 1 students, 2 teachers")]
    label: Annotated[Text | None, doc("Display name")] = None
    type: Annotated[Int | None, doc("1 text, 2 one of `options`")] = None
    options: Annotated[list[Text] | None, doc("Allowed values of type 2", expected=False)] = None


class User(Contract):
    """A user of the v1 generation (a reflection), guardians included. Each custom field of the school's
    user_fields is a column."""

    id: Annotated[Int, doc("User id")]
    usin: Annotated[Text | None, doc("Student or staff number", personal=True)] = None
    name: Annotated[Text | None, doc("Name", personal=True)] = None
    gender: Annotated[Text | None, doc("m male, f female, u unknown", values=("m", "f", "u"))] = None
    avatar_url: Annotated[Text | None, doc("Address of the photo", personal=True)] = None
    role: Annotated[Int | None, doc("1 student, 2 teacher, 8 guardian")] = None
    email: Annotated[Text | None, doc("Email", personal=True)] = None
    phone: Annotated[Text | None, doc("Phone", personal=True)] = None
    graduates_in: Annotated[Int | None, doc("Graduating year of a student")] = None
    outer_id: Annotated[Text | None, doc("Id in an external system", personal=True)] = None
    duration: Annotated[Int | None, doc("Years of schooling")] = None
    entered_at: Annotated[dt.date | None, doc("Date of enrolment")] = None
    idcard: Annotated[
        None,
        doc(
            "National id number; null unless CAMPUS_KEEP_ID_NUMBERS asks for it",
            personal=True,
            expected=False,
            arrow=pa.string(),
        ),
    ] = None
    status: Annotated[Int | None, doc("1 normal, 2 archived, 4 disabled")] = None
    student_id: Annotated[Int | None, doc("Student of a guardian account", personal=True)] = None
    guardian_role: Annotated[Int | None, doc("1 father, 2 mother, 0 other", personal=True)] = None


class StudentProfile(Contract):
    """A student as cards and classes show one. `student_id`: rid where the platform sends it, else id."""

    student_id: Annotated[Int | None, doc("Student id: rid or id, whichever is sent", expected=False)] = None
    rid: Annotated[Int | None, doc("Student id as the attendance parameter", expected=False)] = None
    id: Annotated[Int | None, doc("User id", expected=False)] = None
    name: Annotated[Text | None, doc("Name", personal=True)] = None
    usin: Annotated[Text | None, doc("Student number", personal=True)] = None
    pinyin: Annotated[Text | None, doc("Name in pinyin", personal=True, expected=False)] = None
    avatar_url: Annotated[Text | None, doc("Address of the photo", personal=True)] = None
    gender: Annotated[Text | None, doc("m, f, or u unknown", values=("m", "f", "u"))] = None
    gender_label: Annotated[Text | None, doc("Gender in words")] = None
    status: Annotated[Int | None, doc("1 normal, 2 archived, 4 disabled", expected=False)] = None
    status_label: Annotated[Text | None, doc("Status in words")] = None
    graduates_label: Annotated[Text | None, doc("Cohort in words")] = None
    grade_name: Annotated[Text | None, doc("Grade", expected=False)] = None


class ClassStudent(StudentProfile):
    """A student of a teaching class of the v1 generation."""

    class_id: Annotated[Int | None, doc("Class id, supplied by the question", expected=False)] = None


class Card(StudentProfile):
    """A student card that CAMPUS_CARD_IDS names, and the student it is bound to."""

    card_id: Annotated[Text | None, doc("Card id, as the setting has it", personal=True, expected=False)] = (
        None
    )
    state: Annotated[Text | None, doc("bound, or unbound (the platform answers 404)", expected=False)] = None


class Transcript(Contract):
    """A student's transcript over all semesters; its semesters and courses are tables of their own."""

    student_id: Annotated[Int | None, doc("Student id, supplied by the question", expected=False)] = None
    grade_point_average: Annotated[Number | None, doc("Grade point average")] = None
    average_score: Annotated[Number | None, doc("Average score")] = None
    total_credit: Annotated[Number | None, doc("Credits attempted")] = None
    should_gained_credit: Annotated[Number | None, doc("Credits that should have been gained")] = None
    gained_credit: Annotated[Number | None, doc("Credits gained")] = None


class TranscriptSemester(Contract):
    """One semester of a student's transcript."""

    student_id: Annotated[Int | None, doc("Student id, supplied by the question", expected=False)] = None
    semester_id: Annotated[Int | None, doc("Semester id", expected=False)] = None
    total_grades: Annotated[Number | None, doc("Sum of the scores")] = None
    grade_point_average: Annotated[Number | None, doc("Grade point average")] = None
    total_credit: Annotated[Number | None, doc("Credits attempted")] = None
    gained_credit: Annotated[Number | None, doc("Credits gained")] = None


class TranscriptCourse(Contract):
    """One course of a student's transcript."""

    student_id: Annotated[Int | None, doc("Student id, supplied by the question", expected=False)] = None
    semester_id: Annotated[Int | None, doc("Semester id", expected=False)] = None
    source_id: Annotated[Int | None, doc("Id of what the grade is from; 0: none")] = None
    credit: Annotated[Number | None, doc("Credit")] = None
    name: Annotated[Text | None, doc("Course name")] = None
    csin: Annotated[Text | None, doc("Course code")] = None
    teachers: Annotated[Text | None, doc("Names of the teachers", personal=True)] = None
    subject: Annotated[Text | None, doc("Subject")] = None
    attribute: Annotated[Text | None, doc("Course attribute")] = None
    start_at: Annotated[Int | None, doc("First week; a date stays in `_extra`", assumed=True)] = None
    end_in: Annotated[Int | None, doc("Last week; a date stays in `_extra`", assumed=True)] = None
    gained_credit: Annotated[Number | None, doc("Credit gained")] = None
    class_id: Annotated[Int | None, doc("Class id in the v1 generation")] = None
    published: Annotated[Flag | None, doc("Whether the grade is published")] = None
    published_at: Annotated[WallClock | None, doc("Published at; null: unpublished")] = None
    evaluation: Annotated[
        dict[str, Mark | None] | None,
        doc("100 total score, abc level, gpa, rank, all as text; a dash is null, and kept in `_extra`"),
    ] = None
    class_name: Annotated[Text | None, doc("Class name within the course")] = None
    subject_en: Annotated[Text | None, doc("Subject in English")] = None
