"""The bulk files of OneRoster that the export writes, by version: their fields, in order.

1.2 is the CSV binding 1.2.1: https://www.imsglobal.org/spec/oneroster/v1p2/bind/csv. It took the field
resourceSourcedIds of users.csv out of 1.2.0; the manifest of both says 1.2.
1.1: https://www.imsglobal.org/oneroster-v11-final-csv-tables"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

Version = Literal["1.1", "1.2"]
MANIFEST_VERSION = "1.0"
_ALL_OF_1_1 = (
    *("academicSessions", "categories", "classes", "classResources", "courses", "courseResources"),
    *("demographics", "enrollments", "lineItems", "orgs", "resources", "results", "users"),
)
_ALL_OF_1_2 = (
    *("academicSessions", "categories", "classes", "classResources", "courses", "courseResources"),
    *("demographics", "enrollments", "lineItemLearningObjectiveIds", "lineItems", "lineItemScoreScales"),
    *("orgs", "resources", "resultLearningObjectiveIds", "results", "resultScoreScales", "roles"),
    *("scoreScales", "userProfiles", "userResources", "users"),
)
GUID = r"[0-9A-Za-z._/@-]{1,255}"
DATE = r"\d{4}-\d{2}-\d{2}"


@dataclass(frozen=True)
class Field:
    """A field of a file."""

    name: str
    required: bool = False
    #: The only values; empty: any.
    values: tuple[str, ...] = ()
    #: A regular expression for all of the value; empty: any value.
    pattern: str = ""
    #: The file to whose sourcedId the value refers; empty: no reference.
    to: str = ""
    #: The value is a list, separated by commas.
    is_list: bool = False


@dataclass(frozen=True)
class File:
    """A file of the export."""

    #: The view in schema `oneroster`.
    view: str
    fields: tuple[Field, ...]
    #: Two fields with dates; the second is exclusive, so it is later.
    period: tuple[str, str] | None = None
    #: SQL of the rows; empty: all rows of the view.
    rows: str = ""


@dataclass(frozen=True)
class Binding:
    """A version of the standard."""

    #: The files of the export.
    files: Mapping[str, File]
    #: All files in the order of the manifest.
    all_files: tuple[str, ...]


def _file(view: str, *fields: Field, period: tuple[str, str] | None = None, to: str = "") -> File:
    """A file with the fields that every file has. `to`: the file to which its sourcedId refers."""
    every = (
        Field("sourcedId", required=True, pattern=GUID, to=to),
        # Always blank in bulk.
        *_texts("status", "dateLastModified"),
    )
    return File(view, (*every, *fields), period)


def _texts(*names: str) -> tuple[Field, ...]:
    return tuple(map(Field, names))


def _references(to: str, *names: str) -> tuple[Field, ...]:
    return tuple(Field(name, required=True, pattern=GUID, to=to) for name in names)


_BOOLEAN = ("true", "false")
_TITLE = Field("title", required=True)
_SCHOOL = _references("orgs", "schoolSourcedId")
_PERIOD = ("beginDate", "endDate")

_FILES_OF_1_2: Mapping[str, File] = {
    "academicSessions": _file(
        "academic_sessions",
        _TITLE,
        Field("type", required=True, values=("gradingPeriod", "semester", "schoolYear", "term")),
        *(Field(name, required=True, pattern=DATE) for name in ("startDate", "endDate")),
        Field("parentSourcedId", pattern=GUID, to="academicSessions"),
        Field("schoolYear", required=True, pattern=r"\d{4}"),
        period=("startDate", "endDate"),
    ),
    "categories": _file("categories", _TITLE, Field("weight", pattern=r"\d+")),
    "classes": _file(
        "classes",
        _TITLE,
        *_texts("grades"),
        *_references("courses", "courseSourcedId"),
        *_texts("classCode"),
        Field("classType", required=True, values=("homeroom", "scheduled")),
        *_texts("location"),
        *_SCHOOL,
        Field("termSourcedIds", required=True, to="academicSessions", is_list=True),
        *_texts("subjects", "subjectCodes", "periods"),
    ),
    "courses": _file(
        "courses",
        Field("schoolYearSourcedId", to="academicSessions"),
        _TITLE,
        *_texts("courseCode", "grades"),
        *_references("orgs", "orgSourcedId"),
        *_texts("subjects", "subjectCodes"),
    ),
    "demographics": _file(
        "demographics",
        Field("birthDate", pattern=DATE),
        Field("sex", values=("male", "female", "unspecified", "other")),
        *(
            Field(name, values=_BOOLEAN)
            for name in (
                *("americanIndianOrAlaskaNative", "asian", "blackOrAfricanAmerican"),
                *("nativeHawaiianOrOtherPacificIslander", "white", "demographicRaceTwoOrMoreRaces"),
                "hispanicOrLatinoEthnicity",
            )
        ),
        *_texts("countryOfBirthCode", "stateOfBirthAbbreviation", "cityOfBirth"),
        *_texts("publicSchoolResidenceStatus"),
        to="users",
    ),
    "enrollments": _file(
        "enrollments",
        *_references("classes", "classSourcedId"),
        *_SCHOOL,
        *_references("users", "userSourcedId"),
        Field("role", required=True, values=("administrator", "proctor", "student", "teacher")),
        Field("primary", values=_BOOLEAN),
        *(Field(name, pattern=DATE) for name in _PERIOD),
        period=_PERIOD,
    ),
    "lineItems": _file(
        "line_items",
        _TITLE,
        *_texts("description"),
        *(Field(name, required=True, pattern=DATE) for name in ("assignDate", "dueDate")),
        *_references("classes", "classSourcedId"),
        *_references("categories", "categorySourcedId"),
        *_references("academicSessions", "academicSessionSourcedId"),
        *_texts("resultValueMin", "resultValueMax"),
        *_SCHOOL,
    ),
    "orgs": _file(
        "orgs",
        Field("name", required=True),
        Field(
            "type", required=True, values=("department", "school", "district", "local", "state", "national")
        ),
        *_texts("identifier"),
        Field("parentSourcedId", to="orgs"),
    ),
    "results": _file(
        "results",
        *_references("lineItems", "lineItemSourcedId"),
        *_references("users", "studentSourcedId"),
        Field(
            "scoreStatus",
            required=True,
            values=("exempt", "fully graded", "not submitted", "partially graded", "submitted"),
        ),
        *_texts("score"),
        Field("scoreDate", required=True, pattern=DATE),
        *_texts("comment", "textScore"),
        Field("classSourcedId", to="classes"),
        *(Field(name, values=_BOOLEAN) for name in ("inProgress", "incomplete", "late", "missing")),
    ),
    "roles": _file(
        "roles",
        *_references("users", "userSourcedId"),
        Field("roleType", required=True, values=("primary", "secondary")),
        Field(
            "role",
            required=True,
            values=(
                *("aide", "counselor", "districtAdministrator", "guardian", "parent", "principal", "proctor"),
                *("relative", "siteAdministrator", "student", "systemAdministrator", "teacher"),
            ),
        ),
        *(Field(name, pattern=DATE) for name in _PERIOD),
        *_references("orgs", "orgSourcedId"),
        *_texts("userProfileSourcedId"),
        period=_PERIOD,
    ),
    "scoreScales": _file(
        "score_scales",
        _TITLE,
        Field("type", required=True),
        *_references("orgs", "orgSourcedId"),
        *_references("courses", "courseSourcedId"),
        *_references("classes", "classSourcedId"),
        Field("scoreScaleValue", required=True),
    ),
    "users": _file(
        "users",
        Field("enabledUser", required=True, values=_BOOLEAN),
        Field("username", required=True),
        *_texts("userIds"),
        *(Field(name, required=True) for name in ("givenName", "familyName")),
        *_texts("middleName", "identifier", "email", "sms", "phone"),
        Field("agentSourcedIds", to="users", is_list=True),
        *_texts("grades", "password", "userMasterIdentifier"),
        *_texts("preferredGivenName", "preferredMiddleName", "preferredFamilyName"),
        Field("primaryOrgSourcedId", to="orgs"),
        *_texts("pronouns"),
    ),
}

_ROLES_OF_1_1 = ("administrator", "aide", "guardian", "parent", "proctor", "relative", "student", "teacher")
#: The users with the role for which 1.1 has no file.
_USERS_OF_1_1 = """
    SELECT users.*, roles."orgSourcedId" AS "orgSourcedIds", roles."role"
    FROM oneroster.users JOIN oneroster.roles
        ON roles.school_id = users.school_id AND roles."userSourcedId" = users."sourcedId"
"""
#: Rosters alone. 1.1 requires points and bounds of every mark and its grading period, so that marks in words,
#: exempted marks and additions would have to be left out.
_FILES_OF_1_1: Mapping[str, File] = {
    **{
        name: _FILES_OF_1_2[name]
        for name in ("academicSessions", "classes", "courses", "enrollments", "orgs")
    },
    # 1.1 has no word for a gender that is not known.
    "demographics": replace(
        _FILES_OF_1_2["demographics"],
        rows="FROM oneroster.demographics WHERE \"sex\" IN ('male', 'female')",
    ),
    "users": replace(
        _file(
            "users",
            Field("enabledUser", required=True, values=_BOOLEAN),
            Field("orgSourcedIds", required=True, to="orgs", is_list=True),
            Field("role", required=True, values=_ROLES_OF_1_1),
            Field("username", required=True),
            *_texts("userIds"),
            *(Field(name, required=True) for name in ("givenName", "familyName")),
            *_texts("middleName", "identifier", "email", "sms", "phone"),
            Field("agentSourcedIds", to="users", is_list=True),
            *_texts("grades", "password"),
        ),
        rows=_USERS_OF_1_1,
    ),
}
BINDINGS: Mapping[Version, Binding] = {
    "1.1": Binding(_FILES_OF_1_1, _ALL_OF_1_1),
    "1.2": Binding(_FILES_OF_1_2, _ALL_OF_1_2),
}
