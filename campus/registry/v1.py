"""The registry of the v1 interface."""

from campus.contracts import v1 as contracts_v1
from campus.contracts import v1_attendance as contracts_v1_attendance
from campus.contracts import v1_people as contracts_v1_people
from campus.registry.spec import DetailRows, HiddenRows, ResourceSpec, embedded

# The specification names no scopes for v1. Its sample tokens have these, or v3 needs them for the same rows.
USER_SCOPES = ("user.read", "reflection.read_basic", "reflection.read_all")
CLASS_SCOPES = ("class.read", "klass.read", "user.read")
STUDENT_SCOPES = (*CLASS_SCOPES, "student.read_basic", "student.read_all")

# Changes that a night misses unless it reads everything.
SELDOM = "transcripts that changed while the row of no student did"
LATE = (
    "marks that were set, changed or deleted later after their lesson than attendance.window_days, but for "
    "students who joined or left a class; lessons that a new schedule moved back in time; past lessons "
    "of a student who joined a class and was in no full list of students by the next night"
)

STUDENT_ID = {"student_id": ("rid", "id")}

V1_SEMESTERS = ResourceSpec(
    "v1_semesters",
    "/api/v1/semesters",
    contracts_v1.SemesterV1,
    (*CLASS_SCOPES, "semester.read"),
    shape="list",
    lists_semesters=True,
)

TRANSCRIPTS = ResourceSpec(
    "transcripts",
    "/api/v1/students/{id}/transcripts",
    contracts_v1_people.Transcript,
    STUDENT_SCOPES,
    mode="by_student",
    primary_key=("student_id",),
    shape="object",
    child_of="v1_users",
    unit_column="student_id",
    counts="total_credit",
    seldom_changes=True,
    unseen=SELDOM,
)

TIMETABLE_DAYS = ResourceSpec(
    "timetable_days",
    "/api/v1/timetable/structure",
    contracts_v1.TimetableDay,
    CLASS_SCOPES,
    mode="by_semester",
    sliced_by="semester",
    primary_key=("semester_id", "day"),
    shape="object",
)

# A resource comes after the resources whose ids its requests name.
V1_DATA: tuple[ResourceSpec, ...] = (
    V1_SEMESTERS,
    ResourceSpec(
        "v1_admin_classes",
        "/api/v1/admin-classes",
        contracts_v1.AdminClass,
        (*CLASS_SCOPES, "admin_class.read"),
        shape="list",
        unit_column="id",
        unit="class",
        sources=(DetailRows("students"),),
    ),
    ResourceSpec(
        "user_fields",
        "/api/v1/reflection-fields",
        contracts_v1_people.UserField,
        USER_SCOPES,
        primary_key=("name", "role"),
        shape="list",
    ),
    ResourceSpec(
        "v1_users",
        "/api/v1/reflections",
        contracts_v1_people.User,
        USER_SCOPES,
        mode="by_role",
        # Archived, and disabled.
        sources=(HiddenRows((("status", "2"), ("status", "4"))),),
        fields_from="user_fields",
    ),
    ResourceSpec(
        "attendance_settings",
        "/api/v1/classroompad/attendance-settings",
        contracts_v1.AttendanceSettings,
        CLASS_SCOPES,
        primary_key=("school_id",),
        shape="object",
    ),
    ResourceSpec(
        "devices",
        "/api/v1/classroompad/devices/{id}",
        contracts_v1.Device,
        CLASS_SCOPES,
        mode="by_device",
        primary_key=("device_id",),
        shape="object",
        unit_column="device_id",
    ),
    ResourceSpec(
        "cards",
        "/api/v1/studentcard/cards/{id}",
        contracts_v1_people.Card,
        USER_SCOPES,
        mode="by_card",
        primary_key=("card_id",),
        shape="object",
        unit_column="card_id",
        resolved=STUDENT_ID,
    ),
    ResourceSpec(
        "app_updates",
        "/api/v1/classroompad/check-updates",
        contracts_v1.AppUpdate,
        (),
        primary_key=("latest_version",),
        shape="object",
    ),
    TRANSCRIPTS,
    embedded(
        TRANSCRIPTS,
        "transcript_semesters",
        contracts_v1_people.TranscriptSemester,
        ("student_id", "semester_id"),
        counts="total_credit",
    ),
    embedded(
        TRANSCRIPTS,
        "transcript_courses",
        contracts_v1_people.TranscriptCourse,
        # Courses without an assessment share the source 0, and some have no code.
        ("student_id", "semester_id", "source_id", "csin", "entry"),
        nullable_key=("source_id", "csin"),
        numbered="entry",
        ordered_by=("class_id", "name"),
    ),
    ResourceSpec(
        "v1_classes",
        "/api/v1/classes",
        contracts_v1.TeachingClass,
        CLASS_SCOPES,
        mode="by_semester",
        sliced_by="semester",
    ),
    ResourceSpec(
        "v1_class_students",
        "/api/v1/classes/{id}/students",
        contracts_v1_people.ClassStudent,
        STUDENT_SCOPES,
        mode="by_class",
        sliced_by="semester",
        primary_key=("class_id", "student_id"),
        shape="list",
        child_of="v1_classes",
        unit_column="class_id",
        resolved=STUDENT_ID,
    ),
    TIMETABLE_DAYS,
    embedded(TIMETABLE_DAYS, "timetable_lessons", contracts_v1.TimetableLesson, ("semester_id", "lesson")),
)

ATTENDANCE_SESSIONS = ResourceSpec(
    "attendance_sessions",
    "/api/v1/classes/{id}/attendances",
    contracts_v1_attendance.AttendanceSession,
    CLASS_SCOPES,
    mode="by_session",
    sliced_by="week",
    primary_key=("class_id", "date", "lesson"),
    shape="list",
    child_of="v1_class_students",
    unit_column="class_id",
    filled_later=("attendance_rate", "normal", "late", "absent"),
    unseen=LATE,
)

# Read by students or by sessions, whichever costs less (campus/attendance).
ATTENDANCE: tuple[ResourceSpec, ...] = (
    ATTENDANCE_SESSIONS,
    embedded(
        ATTENDANCE_SESSIONS, "attendance_records", contracts_v1_attendance.AttendanceRecord, keeps_past=True
    ),
)
