"""Contracts of the v1 interface's classes, semesters, timetables and devices, field for field as the
interface specification has them; v1_people.py has people, v1_attendance.py attendance.

Objects inside a row keep the fields that the specification names; what else they carry goes to `_extra`.
"""

from typing import Annotated, ClassVar

from campus.contracts.fields import Contract, Flag, Int, Number, Text, WallClock, doc
from campus.contracts.v1_people import Person, Persons


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
    """A notice on a classroom display."""

    title: Text | None = None
    content: Text | None = None


class TeachingClass(Contract):
    """A teaching class of the v1 interface: a course taught to one group in one semester, with its times and
    places. Extension fields are in `_extra`."""

    label_zh: ClassVar[str] = "教学班（v1）"

    id: Annotated[Int, doc("Class id in the v1 interface", privacy="id", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    semester_id: Annotated[Int | None, doc("Semester id", privacy="id", label_zh="学期ID")] = None
    name: Annotated[Text | None, doc("Course name", privacy="label", label_zh="名称")] = None
    csin: Annotated[Text | None, doc("Course code", privacy="label", label_zh="课程班编号")] = None
    class_name: Annotated[
        Text | None, doc("Class name within the course", privacy="label", label_zh="课程班")
    ] = None
    teachers: Annotated[Persons | None, doc("Teachers", privacy="mixed", label_zh="教师")] = None
    credit: Annotated[Number | None, doc("Credit", privacy="plain", label_zh="学分", unit="credits")] = None
    duration: Annotated[Text | None, doc("Hours, as text", privacy="plain", label_zh="课时")] = None
    description: Annotated[Text | None, doc("Description", privacy="text", label_zh="说明")] = None
    attribute: Annotated[Named | None, doc("Course attribute", privacy="label", label_zh="课程属性")] = None
    subject: Annotated[Named | None, doc("Subject", privacy="label", label_zh="学科")] = None
    grade: Annotated[
        Named | None,
        doc(
            "Grades, several separated by a comma in `name`; empty: unrestricted",
            privacy="label",
            label_zh="年级",
        ),
    ] = None
    start_at: Annotated[Int | None, doc("First week, from 1", privacy="plain", label_zh="开始时间")] = None
    end_in: Annotated[Int | None, doc("Last week", privacy="plain", label_zh="结束周或日期")] = None
    week_type: Annotated[
        Int | None, doc("0 every week, 1 odd weeks, 2 even weeks", privacy="plain", label_zh="单双周")
    ] = None
    capacity: Annotated[Int | None, doc("Capacity", privacy="plain", label_zh="容量", unit="students")] = None
    schedules: Annotated[
        list[Meeting] | None,
        doc(
            "Weekly times; an entry with day or lesson 0 means no time", privacy="plain", label_zh="上课时间"
        ),
    ] = None
    locations: Annotated[
        list[Place] | None,
        doc("Classrooms, which schedules name by location_id", privacy="label", label_zh="教室"),
    ] = None
    classroom: Annotated[
        Place | None, doc("First classroom; `locations` has all", privacy="label", label_zh="教室")
    ] = None
    admin_class_ids: Annotated[
        list[Int] | None,
        doc("Ids of the administrative classes taught", privacy="id", label_zh="行政班ID列表"),
    ] = None


class AdminClass(Contract):
    """An administrative class of the v1 interface, with its staff and students."""

    label_zh: ClassVar[str] = "行政班（v1）"

    id: Annotated[Int, doc("Administrative class id", privacy="id", label_zh="ID")]
    # A string in this list, unlike everywhere else: a platform that sends a number is no worse for it.
    school_id: Annotated[
        Text | None, doc("School id, as text", privacy="id", enum=True, label_zh="学校ID")
    ] = None
    name: Annotated[
        Text | None, doc("Name; unique only together with grade_name", privacy="label", label_zh="名称")
    ] = None
    classroom: Annotated[Place | None, doc("Classroom", privacy="label", label_zh="教室")] = None
    graduates_in: Annotated[Int | None, doc("Graduating year", privacy="plain", label_zh="毕业年份")] = None
    grade_name: Annotated[
        Text | None, doc("Current grade, one for each graduating year", privacy="label", label_zh="年级")
    ] = None
    director: Annotated[Int | Person | None, doc("Head teacher", privacy="mixed", label_zh="班主任")] = None
    teachers: Annotated[Persons | None, doc("Head and deputy teachers", privacy="mixed", label_zh="教师")] = (
        None
    )
    students: Annotated[Persons | None, doc("Students", privacy="mixed", label_zh="学生")] = None
    created_at: Annotated[WallClock | None, doc("Created at", privacy="moment", label_zh="创建时间")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at", privacy="moment", label_zh="更新时间")] = None


class SemesterV1(Contract):
    """A semester of the v1 interface, with its lesson times and teaching days."""

    label_zh: ClassVar[str] = "学期（v1）"

    id: Annotated[Int, doc("Semester id", privacy="id", label_zh="ID")]
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    name: Annotated[Text | None, doc("Name", privacy="label", label_zh="名称")] = None
    start_at: Annotated[
        WallClock | None, doc("First day; a bare date means midnight", privacy="plain", label_zh="开始时间")
    ] = None
    end_in: Annotated[
        WallClock | None,
        doc("Last day; a bare date means midnight", privacy="plain", label_zh="结束周或日期"),
    ] = None
    # Not among the listed fields, but where it is sent it tells which semester of v3 this is.
    outer_id: Annotated[
        Text | None, doc("Id in an external system", privacy="id", expected=False, label_zh="外部ID")
    ] = None
    lesson_schedules: Annotated[
        list[Text] | None,
        doc("Time of each lesson in order, such as 08:00-08:45", privacy="plain", label_zh="节次时间"),
    ] = None
    lesson_names: Annotated[
        list[Text] | None,
        doc("Names of the lessons; empty: not in use", privacy="label", label_zh="节次名称"),
    ] = None
    lesson_days: Annotated[
        list[Int] | None, doc("Teaching days of a week, 1 is Monday", privacy="plain", label_zh="教学日")
    ] = None
    grade_maps: Annotated[
        dict[str, Int] | None,
        doc("Cohort year of each grade name", privacy="label", label_zh="年级与届别对照"),
    ] = None
    is_current: Annotated[
        Flag | None, doc("Whether this is the current semester", privacy="plain", label_zh="是否当前")
    ] = None
    current_week: Annotated[
        Int | None, doc("Week of the semester at the time of asking", privacy="plain", label_zh="当前周")
    ] = None
    created_at: Annotated[WallClock | None, doc("Created at", privacy="moment", label_zh="创建时间")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at", privacy="moment", label_zh="更新时间")] = None


class TimetableDay(Contract):
    """A teaching day of a semester's week."""

    label_zh: ClassVar[str] = "课表教学日"

    day: Annotated[
        Int, doc("Day of the week, 1 is Monday; schedules name it", privacy="plain", label_zh="星期")
    ]
    semester_id: Annotated[
        Int | None,
        doc("Semester id, from the request", privacy="id", expected=False, label_zh="学期ID"),
    ] = None
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None
    is_current: Annotated[
        Flag | None, doc("Whether it was the day of asking", privacy="plain", label_zh="是否当前")
    ] = None


class TimetableLesson(Contract):
    """A lesson of a semester's day."""

    label_zh: ClassVar[str] = "课表节次"

    lesson: Annotated[
        Int, doc("Number of the lesson, from 1; schedules name it", privacy="plain", label_zh="节次")
    ]
    semester_id: Annotated[
        Int | None,
        doc("Semester id, from the request", privacy="id", expected=False, label_zh="学期ID"),
    ] = None
    time: Annotated[
        Text | None, doc("Start and end, such as 08:30-09:15", privacy="plain", label_zh="时间")
    ] = None
    start_time: Annotated[Text | None, doc("Start, HH:MM", privacy="plain", label_zh="上课时间")] = None
    end_time: Annotated[Text | None, doc("End, HH:MM", privacy="plain", label_zh="下课时间")] = None
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None
    is_current: Annotated[
        Flag | None,
        doc("Whether it was going on at the time of asking", privacy="plain", label_zh="是否当前"),
    ] = None


class AttendanceSettings(Contract):
    """When swiping a card counts as what, in minutes around a lesson's start."""

    label_zh: ClassVar[str] = "考勤设置"

    school_id: Annotated[
        Int | None,
        doc("School id, from the request", privacy="id", expected=False, label_zh="学校ID"),
    ] = None
    first_start_duration: Annotated[
        Int | None,
        doc(
            "Minutes before the first lesson when attendance opens",
            privacy="plain",
            digits=True,
            label_zh="首节开放考勤（上课前）",
            unit="minutes",
        ),
    ] = None
    before_start_normal: Annotated[
        Int | None,
        doc(
            "Minutes before a lesson from which on attendance is allowed",
            privacy="plain",
            digits=True,
            label_zh="可提前考勤（上课前）",
            unit="minutes",
        ),
    ] = None
    after_start_lated: Annotated[
        Int | None,
        doc(
            "Minutes after a lesson's start from which on attendance is late",
            privacy="plain",
            digits=True,
            label_zh="迟到起算（上课后）",
            unit="minutes",
        ),
    ] = None
    after_start_stop: Annotated[
        Int | None,
        doc(
            "Minutes after a lesson's start at which attendance stops",
            privacy="plain",
            digits=True,
            label_zh="停止考勤（上课后）",
            unit="minutes",
        ),
    ] = None


class Device(Contract):
    """A classroom display that CAMPUS_DEVICE_IDS names, and the classroom it is bound to."""

    label_zh: ClassVar[str] = "班牌设备"

    device_id: Annotated[
        Text | None, doc("Device id, as the setting has it", privacy="id", expected=False, label_zh="设备ID")
    ] = None
    state: Annotated[
        Text | None,
        doc("bound, or unbound (the platform answers 404)", privacy="plain", expected=False, label_zh="状态"),
    ] = None
    id: Annotated[Int | None, doc("Classroom id", privacy="id", label_zh="ID")] = None
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    type: Annotated[Text | None, doc("Kind of space", privacy="plain", label_zh="类型")] = None
    name: Annotated[Text | None, doc("Name of the classroom", privacy="label", label_zh="名称")] = None
    created_by: Annotated[
        Int | None, doc("User id of who made it", privacy="person", label_zh="创建人ID")
    ] = None
    updated_by: Annotated[
        Int | None, doc("User id of who last changed it", privacy="person", label_zh="更新人ID")
    ] = None
    created_at: Annotated[WallClock | None, doc("Created at", privacy="moment", label_zh="创建时间")] = None
    updated_at: Annotated[WallClock | None, doc("Updated at", privacy="moment", label_zh="更新时间")] = None
    current_status: Annotated[
        Text | None,
        doc(
            "What the display shows",
            privacy="plain",
            values=("normal", "idle", "notice", "blank"),
            label_zh="当前状态",
        ),
    ] = None
    notification: Annotated[
        Notification | None,
        doc("Shown with the status notice", privacy="text", expected=False, label_zh="通知"),
    ] = None
    # Its type is not shown.
    next_class_time: Annotated[
        Text | None,
        doc(
            "Time of the next class, with normal and idle; as sent",
            privacy="plain",
            any_json=True,
            expected=False,
            label_zh="下节课时间",
        ),
    ] = None
    shutdown_timestamp: Annotated[
        Int | None, doc("When it powers off, Unix time", privacy="plain", label_zh="关机时间")
    ] = None
    bootstart_timestamp: Annotated[
        Int | None, doc("When it powers on, Unix time", privacy="plain", label_zh="开机时间")
    ] = None


class AppUpdate(Contract):
    """The newest version of the classroom display's app; earlier ones stay as tombstones."""

    label_zh: ClassVar[str] = "应用更新"

    latest_version: Annotated[
        Text, doc("Version a.b.c of the app, not of the interface", privacy="plain", label_zh="最新版本")
    ]
    download_url: Annotated[Text | None, doc("Link to the package", privacy="label", label_zh="下载地址")] = (
        None
    )
    change_logs: Annotated[
        Text | None, doc("What is new, one line each", privacy="plain", label_zh="更新说明")
    ] = None
