"""Contracts of the v1 interface against the specification's field lists, copied here by hand."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from campus.account import Drift
from campus.contracts.fields import DECIMAL, fields
from campus.decoding.page import decode_page, to_batch
from campus.plan.custom_fields import CustomField, with_custom_fields
from campus.registry import ATTENDANCE, RESOURCES, V1_DATA

WHO = pa.struct([("id", pa.int64()), ("name", pa.string()), ("usin", pa.string())])
PERSON = pa.struct(
    [
        ("id", pa.int64()),
        ("rid", pa.int64()),
        *((name, pa.string()) for name in ("name", "usin", "pinyin", "avatar_url", "gender", "gender_label")),
        ("status", pa.int64()),
        *((name, pa.string()) for name in ("status_label", "graduates_label", "grade_name")),
        ("reflection", WHO),
    ]
)
NAMED = pa.struct(
    [("id", pa.int64()), ("school_id", pa.int64()), ("type", pa.string()), ("name", pa.string())]
)
PLACE = pa.struct(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("type", pa.string()),
        ("school_id", pa.int64()),
        ("created_at", pa.timestamp("us")),
        ("updated_at", pa.timestamp("us")),
    ]
)
MEETING = pa.struct(
    [
        ("day", pa.int64()),
        ("lesson", pa.int64()),
        ("location_id", pa.int64()),
        ("is_current", pa.bool_()),
    ]
)
TYPES = {
    "int": pa.int64(),
    "text": pa.string(),
    "flag": pa.bool_(),
    "decimal": DECIMAL,
    "date": pa.date32(),
    "time": pa.timestamp("us"),
    "ints": pa.list_(pa.int64()),
    "texts": pa.list_(pa.string()),
    "person": PERSON,
    "people": pa.list_(PERSON),
    "named": NAMED,
    "place": PLACE,
    "places": pa.list_(PLACE),
    "meetings": pa.list_(MEETING),
    "notification": pa.struct([("title", pa.string()), ("content", pa.string())]),
    "years": pa.map_(pa.string(), pa.int64()),
    "marks": pa.map_(pa.string(), pa.string()),
}
PROFILE = "name usin pinyin avatar_url gender gender_label status_label graduates_label grade_name"

# Resource -> type -> fields; those that the question supplies come first.
SPECIFIED: dict[str, dict[str, str]] = {
    "v1_semesters": {
        # outer_id is not among the listed fields: where it is sent, it tells which semester of v3 this is.
        "int": "id school_id current_week",
        "text": "name outer_id",
        "time": "start_at end_in created_at updated_at",
        "texts": "lesson_schedules lesson_names",
        "ints": "lesson_days",
        "years": "grade_maps",
        "flag": "is_current",
    },
    "v1_admin_classes": {
        "int": "id graduates_in",
        "text": "school_id name grade_name",
        "place": "classroom",
        "person": "director",
        "people": "teachers students",
        "time": "created_at updated_at",
    },
    "user_fields": {"text": "name label", "int": "role type", "texts": "options"},
    "v1_users": {
        "int": "id role graduates_in duration status student_id guardian_role",
        "text": "usin name gender avatar_url email phone outer_id idcard",
        "date": "entered_at",
    },
    "attendance_settings": {
        "int": "school_id first_start_duration before_start_normal after_start_lated after_start_stop"
    },
    "devices": {
        "text": "device_id state type name current_status next_class_time",
        "int": "id school_id created_by updated_by shutdown_timestamp bootstart_timestamp",
        "time": "created_at updated_at",
        "notification": "notification",
    },
    "cards": {"text": f"card_id state {PROFILE}", "int": "student_id rid id status"},
    "app_updates": {"text": "latest_version download_url change_logs"},
    "transcripts": {
        "int": "student_id",
        "decimal": "grade_point_average average_score total_credit should_gained_credit gained_credit",
    },
    "transcript_semesters": {
        "int": "student_id semester_id",
        "decimal": "total_grades grade_point_average total_credit gained_credit",
    },
    "transcript_courses": {
        "int": "student_id semester_id source_id entry start_at end_in class_id",
        "decimal": "credit gained_credit",
        "text": "name csin teachers subject attribute class_name subject_en",
        "flag": "published",
        "time": "published_at",
        "marks": "evaluation",
    },
    "v1_classes": {
        "int": "id school_id semester_id start_at end_in week_type capacity",
        "text": "name csin class_name duration description",
        "people": "teachers",
        "decimal": "credit",
        "named": "attribute subject grade",
        "meetings": "schedules",
        "places": "locations",
        "place": "classroom",
        "ints": "admin_class_ids",
    },
    "v1_class_students": {"int": "class_id student_id rid id status", "text": PROFILE},
    "timetable_days": {"int": "semester_id day", "text": "label", "flag": "is_current"},
    "timetable_lessons": {
        "int": "semester_id lesson",
        "text": "time start_time end_time label",
        "flag": "is_current",
    },
    "attendance_sessions": {
        "int": "class_id lesson semester_id week normal late absent",
        "date": "date",
        "flag": "scheduled",
        "decimal": "attendance_rate",
    },
    "attendance_records": {
        "int": "id class_id student_id lesson",
        "text": "usin status status_label absence_label conclusion_label created_time",
        "date": "checked_at created_date",
    },
}
PERSONAL = {
    "v1_admin_classes": "director teachers students",
    "v1_users": "usin name outer_id avatar_url email phone idcard student_id guardian_role",
    "cards": "card_id name usin pinyin avatar_url",
    "transcript_courses": "teachers",
    "v1_classes": "teachers description",
    "devices": "notification",
    "v1_class_students": "name usin pinyin avatar_url",
    "attendance_records": "usin",
}


@pytest.mark.parametrize("resource", SPECIFIED)
def test_a_contract_has_each_specified_field_with_its_type(resource: str) -> None:
    expected = {name: TYPES[kind] for kind, names in SPECIFIED[resource].items() for name in names.split()}
    assert {f.name: f.arrow_type for f in fields(RESOURCES[resource].contract)} == expected


def test_each_resource_is_specified_here_and_described() -> None:
    specs = (*V1_DATA, *ATTENDANCE)
    assert [spec.name for spec in specs] == list(SPECIFIED)
    assert all(f.description and spec.contract.__doc__ for spec in specs for f in fields(spec.contract))


def test_what_tells_about_a_person_is_marked() -> None:
    personal_fields = {
        spec.name: {f.name for f in fields(spec.contract) if f.personal} for spec in (*V1_DATA, *ATTENDANCE)
    }
    assert {name: names for name, names in personal_fields.items() if names} == {
        name: set(names.split()) for name, names in PERSONAL.items()
    }


def loaded(resource: str, *rows: str) -> tuple[list[dict[str, object]], list[str]]:
    """Rows as the lake takes them, and the kinds of drift."""
    spec = RESOURCES[resource]
    page = decode_page(f"[{','.join(rows)}]".encode(), spec.contract)
    assert page.bad == []
    batch, _ = to_batch(spec.contract, page.rows, page.extras, [False] * len(rows))
    return batch.to_pylist(), [drift.kind for drift in page.drift if drift.kind != "absent_field"]


def test_minutes_in_text_are_integers_and_no_drift() -> None:
    [row], drift = loaded("attendance_settings", '{"first_start_duration":"30","after_start_stop":""}')
    assert (row["first_start_duration"], row["after_start_stop"]) == (30, None)
    assert drift == ["empty_text"]


def test_a_dash_among_marks_is_null_and_the_original_is_kept() -> None:
    marks = '{"100":"92.5","abc":"-","gpa":"\u2014","rank":3}'
    [row], drift = loaded("transcript_courses", f'{{"source_id":1,"csin":"A","evaluation":{marks}}}')
    assert row["evaluation"] == [("100", "92.5"), ("abc", None), ("gpa", None), ("rank", "3")]
    assert row["_extra"] == f'{{"evaluation":{marks}}}'
    assert drift == ["number_for_text"]


def test_a_dash_alone_is_no_drift() -> None:
    [row], drift = loaded("transcript_courses", '{"source_id":1,"csin":"A","evaluation":{"abc":"-"}}')
    assert (row["evaluation"], row["_extra"]) == ([("abc", None)], '{"evaluation":{"abc":"-"}}')
    assert drift == []


def test_marks_that_are_no_dash_stay_as_they_are() -> None:
    [row], drift = loaded(
        "transcript_courses", '{"source_id":1,"csin":"A","evaluation":{"100":"-1","abc":"A-"}}'
    )
    assert (row["evaluation"], row["_extra"], drift) == ([("100", "-1"), ("abc", "A-")], None, [])


def test_what_a_course_starts_and_ends_at_is_a_week_or_stays_as_it_was_sent() -> None:
    key = '"source_id":1,"csin":"A"'
    rows, drift = loaded(
        "transcript_courses",
        f'{{{key},"start_at":3,"end_in":null}}',
        f'{{{key},"start_at":"2025-09-01","end_in":18}}',
    )
    assert [(row["start_at"], row["end_in"]) for row in rows] == [(3, None), (None, 18)]
    assert [row["_extra"] for row in rows] == [None, '{"start_at":"2025-09-01"}']
    assert drift == ["other_type"]


def test_objects_inside_objects_lose_what_no_contract_names_and_extra_keeps_it() -> None:
    teachers = '[{"id":7,"name":"T","vip":true,"reflection":{"id":7,"name":"T","idcard":"1","x":2}}]'
    [row], drift = loaded("v1_classes", f'{{"id":1,"teachers":{teachers},"grade":[]}}')
    people = row["teachers"]
    assert isinstance(people, list)
    assert (people[0]["name"], people[0]["reflection"]["name"]) == ("T", "T")
    assert row["grade"] is None
    assert "idcard" not in str(row["_extra"]) and '"vip":true' in str(row["_extra"])
    unknown_fields = ["teachers.reflection.x", "teachers.vip"]
    assert sorted(drift) == [
        "empty_list",
        *["unknown_nested_field"] * len(unknown_fields),
        "withheld_identity_number",
    ]
    page = decode_page(f'[{{"id":1,"teachers":{teachers}}}]'.encode(), RESOURCES["v1_classes"].contract)
    assert (
        sorted(drift_entry.field for drift_entry in page.drift if drift_entry.kind == "unknown_nested_field")
        == unknown_fields
    )


def test_a_moment_finer_than_a_microsecond_is_noticed_inside_an_object_too() -> None:
    sent = '"classroom":{"id":5,"created_at":"2025-03-01 10:00:00.9999999"}'
    [row], drift = loaded("v1_classes", f'{{"id":1,{sent}}}')
    assert row["classroom"]["created_at"] == dt.datetime(2025, 3, 1, 10, 0, 0, 999999)  # type: ignore[index]
    assert (row["_extra"], drift) == (f"{{{sent}}}", ["fine_timestamp"])


def test_maps_keep_their_keys() -> None:
    [row], _ = loaded("v1_semesters", '{"id":1,"grade_maps":{"高一":2027}}')
    assert row["grade_maps"] == [("高一", 2027)]


def test_a_national_id_number_is_dropped_and_its_column_is_null() -> None:
    [row], drift = loaded("v1_users", '{"id":1,"idcard":"110101","password":"p"}')
    assert row["idcard"] is None
    assert "110101" not in str(row) and '"p"' not in str(row)
    # The number is counted, the password is no field of the interface.
    assert sorted(drift) == ["unknown_field", "withheld_identity_number"]


@pytest.mark.parametrize("keep_id_numbers", [False, True])
def test_a_user_without_an_id_is_bad_and_gives_no_id_number_away(keep_id_numbers: bool) -> None:
    fields = [CustomField("club", None, None)]
    spec = with_custom_fields(RESOURCES["v1_users"], fields, keep_id_numbers=keep_id_numbers)
    [bad] = decode_page(b'[{"id":"x","usin":"2","idcard":"110101"}]', spec.contract).bad
    assert bad.key is None and "`id`" in bad.reason and "110101" not in bad.raw


@pytest.mark.parametrize(
    ("resource", "sent", "loaded_as"),
    [
        ("v1_classes", '"grade":""', ("grade", None)),
        ("v1_classes", '"classroom":[]', ("classroom", None)),
        ("v1_classes", '"classroom":""', ("classroom", None)),
        ("v1_classes", '"subject":"数学"', ("subject", None)),
        ("v1_classes", '"capacity":"45"', ("capacity", 45)),
        ("v1_classes", '"capacity":"不限"', ("capacity", None)),
        ("v1_classes", '"start_at":""', ("start_at", None)),
        ("v1_classes", '"credit":"两分"', ("credit", None)),
        ("v1_classes", '"duration":36', ("duration", "36")),
        ("v1_classes", '"admin_class_ids":["7","8"]', ("admin_class_ids", [7, 8])),
        ("v1_classes", '"admin_class_ids":""', ("admin_class_ids", None)),
        ("v1_admin_classes", '"created_at":""', ("created_at", None)),
        ("v1_users", '"entered_at":""', ("entered_at", None)),
        ("v1_users", '"entered_at":"2024-09-01T00:00:00+08:00"', ("entered_at", dt.date(2024, 9, 1))),
        ("v1_users", '"role":"1"', ("role", 1)),
        ("v1_semesters", '"lesson_days":{}', ("lesson_days", None)),
        ("v1_semesters", '"grade_maps":{"高一":"2027"}', ("grade_maps", [("高一", 2027)])),
    ],
)
def test_whatever_a_field_holds_the_row_loads_and_extra_has_it(
    resource: str, sent: str, loaded_as: tuple[str, object]
) -> None:
    name, value = loaded_as
    [row], drift = loaded(resource, f'{{"id":1,{sent}}}')
    assert (row["id"], row[name], row["_extra"]) == (1, value, f"{{{sent}}}")
    assert len(drift) == 1


def test_marks_and_credits_in_words_leave_a_transcript_whole() -> None:
    sent = '{"grade_point_average":"-","average_score":"88.50","total_credit":"全"}'
    [row], drift = loaded("transcripts", sent)
    assert (row["grade_point_average"], row["average_score"]) == (None, Decimal("88.5"))
    assert row["_extra"] == '{"grade_point_average":"-","total_credit":"全"}'
    assert drift == ["word_for_number"]


def test_a_value_that_tells_about_a_person_is_no_sample_of_drift() -> None:
    field = CustomField("boarding", "走读/住校", ["走读", "住校"])
    spec = with_custom_fields(RESOURCES["v1_users"], [field], keep_id_numbers=False)
    page = decode_page('[{"id":1,"boarding":"在家"},{"id":2,"boarding":"在校"}]'.encode(), spec.contract)
    _, drift = to_batch(spec.contract, page.rows, page.extras, [False] * 2)
    assert drift == {Drift("unknown_value", "boarding"): 2}


@pytest.mark.parametrize(
    ("sent", "ids", "extra"),
    [
        ('{"reflection":{"id":8,"usin":"u"}}', (None, 8), '{"reflection":{"id":8,"usin":"u"}}'),
        (
            '{"id":3,"reflection":{"id":8,"usin":"u"}}',
            (None, 8),
            '{"reflection":{"id":8,"usin":"u"},"id":3}',
        ),
        (
            '{"id":3,"rid":8,"reflection":{"id":9,"usin":"u"}}',
            (8, 3),
            '{"reflection":{"id":9,"usin":"u"}}',
        ),
        (
            '{"reflection":{"id":8,"usin":"u","idcard":"110101"}}',
            (None, 8),
            '{"reflection":{"id":8,"usin":"u"}}',
        ),
    ],
)
def test_who_stands_inside_a_student_of_a_class_is_the_student(
    sent: str, ids: tuple[int | None, int | None], extra: str
) -> None:
    [row], drift = loaded("v1_class_students", sent)
    assert ((row["rid"], row["id"]), row["usin"], row["_extra"]) == (ids, "u", extra)
    assert "nested_person" in drift
