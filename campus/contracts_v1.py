"""Contracts of the v1 generation's classes, semesters, timetables and devices, field for field as the
interface specification has them; contracts_v1_people.py has people, contracts_v1_attendance.py attendance.

Objects inside a row keep the fields that the specification names; what else they carry goes to `_extra`.
"""

from typing import Annotated

from campus.contract import Contract, Flag, Int, Number, Text, WallClock, doc
from campus.contracts_v1_people import Person


class Named(Contract):
    """A subject, grade or course attribute inside a class."""

    id: Int | None = None
    school_id: Int | None = None
    type: Text | None = None
    name: Text | None = None


class Place(Contract):
    """A classroom inside a class."""

    id: Int | None = None
    name: Text | None = None
    type: Text | None = None
    school_id: Int | None = None
    created_at: WallClock | None = None
    updated_at: WallClock | None = None


class Meeting(Contract):
    """A weekly time of a class; `day` or `lesson` 0 means that it has none."""

    day: Int | None = None
    lesson: Int | None = None
    location_id: Int | None = None
    is_current: Flag | None = None


class Notification(Contract):
    """What a classroom display shows with the status notice."""

    title: Text | None = None
    content: Text | None = None


class TeachingClass(Contract):
    """A teaching class of the v1 generation: a course taught to one group in one semester, with its times and
    places. Extension fields are in `_extra`."""

    id: Annotated[Int, doc("Class id in the v1 generation")]
    school_id: Annotated[Int | None, doc("School id")] = None
    semester_id: Annotated[Int | None, doc("Semester id")] = None
    name: Annotated[Text | None, doc("Course name")] = None
    csin: Annotated[Text | None, doc("Course code")] = None
    class_name: Annotated[Text | None, doc("Class name within the course")] = None
    teachers: Annotated[list[Person] | None, doc("Teachers", personal=True)] = None
    credit: Annotated[Number | None, doc("Credit")] = None
    duration: Annotated[Text | None, doc("Hours, as text")] = None
    description: Annotated[Text | None, doc("Description")] = None
    attribute: Annotated[Named | None, doc("Course attribute")] = None
    subject: Annotated[Named | None, doc("Subject")] = None
    grade: Annotated[
        Named | None, doc("Grades, several separated by a comma in `name`; empty: unrestricted")
    ] = None
    start_at: Annotated[Int | None, doc("First week, from 1")] = None
    end_in: Annotated[Int | None, doc("Last week")] = None
    week_type: Annotated[Int | None, doc("0 every week, 1 odd weeks, 2 even weeks")] = None
    capacity: Annotated[Int | None, doc("Capacity")] = None
    schedules: Annotated[
        list[Meeting] | None, doc("Weekly times; an entry with day or lesson 0 means no time")
    ] = None
    locations: Annotated[list[Place] | None, doc("Classrooms, which schedules name by location_id")] = None
    classroom: Annotated[Place | None, doc("First classroom; `locations` has all")] = None
    admin_class_ids: Annotated[list[Int] | None, doc("Ids of the administrative classes taught")] = None


class AdminClass(Contract):
    """An administrative class of the v1 generation, with its staff and students."""

    id: Annotated[Int, doc("Administrative class id")]
    # A string in this list, unlike everywhere else: a platform that sends a number is no worse for it.
    school_id: Annotated[Text | None, doc("School id, as text", enum=True)] = None
    name: Annotated[Text | None, doc("Name; unique only together with grade_name")] = None
    classroom: Annotated[Place | None, doc("Classroom")] = None
    graduates_in: Annotated[Int | None, doc("Graduating year")] = None
    grade_name: Annotated[Text | None, doc("Current grade, one for each graduating year")] = None
    director: Annotated[Person | None, doc("Head teacher", personal=True)] = None
    teachers: Annotated[list[Person] | None, doc("Head and deputy teachers", personal=True)] = None
    students: Annotated[list[Person] | None, doc("Students", personal=True)] = None
    created_at: Annotated[WallClock | None, doc("Created at")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at")] = None


class SemesterV1(Contract):
    """A semester of the v1 generation, with its lesson times and teaching days."""

    id: Annotated[Int, doc("Semester id")]
    school_id: Annotated[Int | None, doc("School id")] = None
    name: Annotated[Text | None, doc("Name")] = None
    start_at: Annotated[WallClock | None, doc("First day; a bare date means midnight")] = None
    end_in: Annotated[WallClock | None, doc("Last day; a bare date means midnight")] = None
    lesson_schedules: Annotated[
        list[Text] | None, doc("Time of each lesson in order, such as 08:00-08:45")
    ] = None
    lesson_names: Annotated[list[Text] | None, doc("Names of the lessons; empty: not in use")] = None
    lesson_days: Annotated[list[Int] | None, doc("Teaching days of a week, 1 is Monday")] = None
    grade_maps: Annotated[dict[str, Int] | None, doc("Cohort year of each grade name")] = None
    is_current: Annotated[Flag | None, doc("Whether this is the current semester")] = None
    current_week: Annotated[Int | None, doc("Week of the semester at the time of asking")] = None
    created_at: Annotated[WallClock | None, doc("Created at")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at")] = None


class TimetableDay(Contract):
    """A teaching day of a semester's week."""

    day: Annotated[Int, doc("Day of the week, 1 is Monday; schedules name it")]
    semester_id: Annotated[Int | None, doc("Semester id, supplied by the question", expected=False)] = None
    label: Annotated[Text | None, doc("Display name")] = None
    is_current: Annotated[Flag | None, doc("Whether it was the day of asking")] = None


class TimetableLesson(Contract):
    """A lesson of a semester's day."""

    lesson: Annotated[Int, doc("Number of the lesson, from 1; schedules name it")]
    semester_id: Annotated[Int | None, doc("Semester id, supplied by the question", expected=False)] = None
    time: Annotated[Text | None, doc("Start and end, such as 08:30-09:15")] = None
    start_time: Annotated[Text | None, doc("Start, HH:MM")] = None
    end_time: Annotated[Text | None, doc("End, HH:MM")] = None
    label: Annotated[Text | None, doc("Display name")] = None
    is_current: Annotated[Flag | None, doc("Whether it was going on at the time of asking")] = None


class AttendanceSettings(Contract):
    """When swiping a card counts as what, in minutes around a lesson's start."""

    school_id: Annotated[Int | None, doc("School id, supplied by the question", expected=False)] = None
    first_start_duration: Annotated[
        Int | None, doc("Minutes before the first lesson when attendance opens", digits=True)
    ] = None
    before_start_normal: Annotated[
        Int | None, doc("Minutes before a lesson from which on attendance is allowed", digits=True)
    ] = None
    after_start_lated: Annotated[
        Int | None, doc("Minutes after a lesson's start from which on attendance is late", digits=True)
    ] = None
    after_start_stop: Annotated[
        Int | None, doc("Minutes after a lesson's start at which attendance stops", digits=True)
    ] = None


class Device(Contract):
    """A classroom display that CAMPUS_DEVICE_IDS names, and the classroom it is bound to."""

    device_id: Annotated[Text | None, doc("Device id, as the setting has it", expected=False)] = None
    state: Annotated[Text | None, doc("bound, or unbound (the platform answers 404)", expected=False)] = None
    id: Annotated[Int | None, doc("Classroom id")] = None
    school_id: Annotated[Int | None, doc("School id")] = None
    type: Annotated[Text | None, doc("Kind of space")] = None
    name: Annotated[Text | None, doc("Name of the classroom")] = None
    created_by: Annotated[Int | None, doc("User id of who made it")] = None
    updated_by: Annotated[Int | None, doc("User id of who last changed it")] = None
    created_at: Annotated[WallClock | None, doc("Created at")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at")] = None
    current_status: Annotated[
        Text | None, doc("What the display shows", values=("normal", "idle", "notice", "blank"))
    ] = None
    notification: Annotated[Notification | None, doc("Shown with the status notice", expected=False)] = None
    # Its type is not shown.
    next_class_time: Annotated[
        Text | None,
        doc("Time of the next class, with normal and idle; as sent", any_json=True, expected=False),
    ] = None
    shutdown_timestamp: Annotated[Int | None, doc("When it powers off, Unix time")] = None
    bootstart_timestamp: Annotated[Int | None, doc("When it powers on, Unix time")] = None


class AppUpdate(Contract):
    """The newest version of the classroom display's app; earlier ones stay as tombstones."""

    latest_version: Annotated[Text, doc("Version a.b.c of the app, not of the interface")]
    download_url: Annotated[Text | None, doc("Link to the package")] = None
    change_logs: Annotated[Text | None, doc("What is new, one line each")] = None
