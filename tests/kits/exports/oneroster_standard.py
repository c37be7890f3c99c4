"""A validator of bulk zips, written from the tables of OneRoster's CSV bindings 1.2.1 and 1.1, apart from the
export. It knows the files that the export may write; another file is a finding."""

import csv
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

Row = dict[str, str]
Rows = Mapping[str, list[Row]]

#: The properties of the manifest that name files, by version.
MANIFEST = {
    "1.1": [
        *("academicSessions", "categories", "classes", "classResources", "courses", "courseResources"),
        *("demographics", "enrollments", "lineItems", "orgs", "resources", "results", "users"),
    ],
    "1.2": [
        *("academicSessions", "categories", "classes", "classResources", "courses", "courseResources"),
        *("demographics", "enrollments", "lineItemLearningObjectiveIds", "lineItems", "lineItemScoreScales"),
        *("orgs", "resources", "resultLearningObjectiveIds", "results", "resultScoreScales", "roles"),
        *("scoreScales", "userProfiles", "userResources", "users"),
    ],
}
#: The tables of 1.2.1: field; required; format; values or the file that is referred to.
#: Each begins with sourcedId, status and dateLastModified. "+" after values: the vocabulary may be extended.
TABLES = """
[academicSessions]
title; Yes; String
type; Yes; Enumeration; gradingPeriod | semester | schoolYear | term +
startDate; Yes; Date
endDate; Yes; Date
parentSourcedId; No; GUID Reference; academicSessions
schoolYear; Yes; Year
[categories]
title; Yes; String
weight; No; Integer
[classes]
title; Yes; String
grades; No; List of Strings
courseSourcedId; Yes; GUID Reference; courses
classCode; No; String
classType; Yes; Enumeration; homeroom | scheduled +
location; No; String
schoolSourcedId; Yes; GUID Reference; orgs
termSourcedIds; Yes; List of GUID References; academicSessions
subjects; No; List of Strings
subjectCodes; No; List of Strings
periods; No; List of Strings
[courses]
schoolYearSourcedId; No; GUID Reference; academicSessions
title; Yes; String
courseCode; No; String
grades; No; List of Strings
orgSourcedId; Yes; GUID Reference; orgs
subjects; No; List of Strings
subjectCodes; No; List of Strings
[demographics]
birthDate; No; Date
sex; No; Enumeration; male | female | unspecified | other +
americanIndianOrAlaskaNative; No; Enumeration; true | false
asian; No; Enumeration; true | false
blackOrAfricanAmerican; No; Enumeration; true | false
nativeHawaiianOrOtherPacificIslander; No; Enumeration; true | false
white; No; Enumeration; true | false
demographicRaceTwoOrMoreRaces; No; Enumeration; true | false
hispanicOrLatinoEthnicity; No; Enumeration; true | false
countryOfBirthCode; No; String
stateOfBirthAbbreviation; No; String
cityOfBirth; No; String
publicSchoolResidenceStatus; No; String
[enrollments]
classSourcedId; Yes; GUID Reference; classes
schoolSourcedId; Yes; GUID Reference; orgs
userSourcedId; Yes; GUID Reference; users
role; Yes; Enumeration; administrator | proctor | student | teacher +
primary; No; Enumeration; true | false
beginDate; No; Date
endDate; No; Date
[lineItems]
title; Yes; String
description; No; String
assignDate; Yes; Date
dueDate; Yes; Date
classSourcedId; Yes; GUID Reference; classes
categorySourcedId; Yes; GUID Reference; categories
academicSessionSourcedId; Yes; GUID Reference; academicSessions
resultValueMin; No; Float
resultValueMax; No; Float
schoolSourcedId; Yes; GUID Reference; orgs
[orgs]
name; Yes; String
type; Yes; Enumeration; department | school | district | local | state | national +
identifier; No; String
parentSourcedId; No; GUID Reference; orgs
[results]
lineItemSourcedId; Yes; GUID Reference; lineItems
studentSourcedId; Yes; GUID Reference; users
scoreStatus; Yes; Enumeration; exempt | fully graded | not submitted | partially graded | submitted +
score; No; Float
scoreDate; Yes; Date
comment; No; String
textScore; No; String
classSourcedId; No; GUID Reference; classes
inProgress; No; Enumeration; true | false
incomplete; No; Enumeration; true | false
late; No; Enumeration; true | false
missing; No; Enumeration; true | false
[roles]
userSourcedId; Yes; GUID Reference; users
roleType; Yes; Enumeration; primary | secondary
role; Yes; Enumeration; aide | counselor | districtAdministrator | guardian | parent | principal | proctor \
| relative | siteAdministrator | student | systemAdministrator | teacher +
beginDate; No; Date
endDate; No; Date
orgSourcedId; Yes; GUID Reference; orgs
userProfileSourcedId; No; GUID Reference; userProfiles
[scoreScales]
title; Yes; String
type; Yes; String
orgSourcedId; Yes; GUID Reference; orgs
courseSourcedId; Yes; GUID Reference; courses
classSourcedId; Yes; GUID Reference; classes
scoreScaleValue; Yes; Mappings
[users]
enabledUser; Yes; Enumeration; true | false
username; Yes; String
userIds; No; Mappings
givenName; Yes; String
familyName; Yes; String
middleName; No; String
identifier; No; String
email; No; String
sms; No; String
phone; No; String
agentSourcedIds; No; List of GUID References; users
grades; No; List of Strings
password; No; String
userMasterIdentifier; No; String
preferredGivenName; No; String
preferredMiddleName; No; String
preferredFamilyName; No; String
primaryOrgSourcedId; No; GUID Reference; orgs
pronouns; No; String
"""
#: The tables of 1.1 that differ. Its files of marks are not written.
TABLES_OF_1_1 = """
[users]
enabledUser; Yes; Enumeration; true | false
orgSourcedIds; Yes; List of GUID References; orgs
role; Yes; Enumeration; administrator | aide | guardian | parent | proctor | relative | student | teacher
username; Yes; String
userIds; No; Mappings
givenName; Yes; String
familyName; Yes; String
middleName; No; String
identifier; No; String
email; No; String
sms; No; String
phone; No; String
agentSourcedIds; No; List of GUID References; users
grades; No; String
password; No; String
"""
#: 1.1 has two of the words for a gender.
SEX_OF_1_1 = "sex; No; Enumeration; male | female"
SAME_IN_1_1 = ("academicSessions", "classes", "courses", "enrollments", "orgs")
GUID = r"[0-9a-zA-Z._/@-]{1,255}"
FORMATS = {
    "GUID Reference": GUID,
    "List of GUID References": rf"{GUID}(,{GUID})*",
    "List of Strings": r"[^,]+(,[^,]+)*",
    "Mappings": r"\{[^{}:,]+:[^{}:,]+\}(,\{[^{}:,]+:[^{}:,]+\})*",
    "Date": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
    "Year": r"\d{4}",
    "Integer": r"-?\d+",
    "Float": r"-?\d+(\.\d+)?([eE][+-]?\d+)?",
    "String": r"[^\r\n]+",
}


@dataclass(frozen=True)
class Column:
    """A row of a table of the standard."""

    name: str
    required: bool
    format: str
    values: tuple[str, ...] = ()
    is_open: bool = False
    to: str = ""


def _columns(line: str) -> Column:
    name, required, format, *details = line.split("; ")
    detail = details[0] if details else ""
    if format == "Enumeration":
        values = tuple(value.strip() for value in detail.rstrip("+ ").split("|"))
        return Column(name, required == "Yes", format, values, detail.endswith("+"))
    return Column(name, required == "Yes", format, to=detail)


@cache
def tables(version: str) -> dict[str, list[Column]]:
    """The columns of each file, after the three that all have."""
    if version == "1.1":
        later, sex = tables("1.2"), _columns(SEX_OF_1_1)
        same = {file: later[file] for file in SAME_IN_1_1}
        demographics = [sex if column.name == sex.name else column for column in later["demographics"]]
        return same | {"demographics": demographics} | _sections(TABLES_OF_1_1)
    return _sections(TABLES)


def _sections(text: str) -> dict[str, list[Column]]:
    sections = re.split(r"\[(\w+)\]\n", text)[1:]
    return {
        file: [_columns(line) for line in lines.strip().split("\n")]
        for file, lines in zip(sections[::2], sections[1::2], strict=True)
    }


def header(file: str, version: str = "1.2") -> list[str]:
    """The header of a file."""
    return ["sourcedId", "status", "dateLastModified", *(column.name for column in tables(version)[file])]


def findings(path: Path, version: str = "1.2") -> list[str]:
    """What in a zip breaks the standard; empty: nothing."""
    return list(_findings(path, version))


def read(path: Path) -> dict[str, list[Row]]:
    """The rows of each data file of a zip."""
    with zipfile.ZipFile(path) as archive:
        texts = {name: archive.read(name).decode("utf-8-sig") for name in archive.namelist()}
    return {
        name.removesuffix(".csv"): list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        for name, text in texts.items()
        if name != "manifest.csv"
    }


def _findings(path: Path, version: str) -> Iterator[str]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        texts = {member.filename: archive.read(member).decode("utf-8-sig") for member in members}
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
        yield "zip: compressed by another method than RFC 1951"
    if len(texts) < len(members):
        yield "zip: a name is there twice"
    yield from _manifest(texts, version)
    for name, text in texts.items():
        yield from _form(name, text)
    rows = read(path)
    ids = {file: {row["sourcedId"] for row in some} for file, some in rows.items()}
    for file, some in rows.items():
        if file not in tables(version):
            yield f"{file}.csv: not a file of the export"
            continue
        yield from _rows(file, some, ids, version)
    yield from _together(rows)


def _manifest(texts: Mapping[str, str], version: str) -> Iterator[str]:
    if "manifest.csv" not in texts:
        yield "zip: no manifest.csv"
        return
    head, *lines = csv.reader(io.StringIO(texts["manifest.csv"], newline=""), strict=True)
    if head != ["propertyName", "value"]:
        yield "manifest.csv: another header"
    properties = dict(lines)
    if len(properties) < len(lines):
        yield "manifest.csv: a property is there twice"
    if properties.get("manifest.version") != "1.0" or properties.get("oneroster.version") != version:
        yield "manifest.csv: another version"
    for file in MANIFEST[version]:
        mode = properties.get(f"file.{file}")
        if mode != ("bulk" if f"{file}.csv" in texts else "absent"):
            yield f"manifest.csv: file.{file} is {mode}"
    allowed = {"manifest.version", "oneroster.version", "source.systemName", "source.systemCode"}
    if unknown := properties.keys() - allowed - {f"file.{file}" for file in MANIFEST[version]}:
        yield f"manifest.csv: unknown {unknown}"


def _form(name: str, text: str) -> Iterator[str]:
    """RFC 4180: CRLF after each record, no line break in a field, as many fields as the header has."""
    if "/" in name or not name.endswith(".csv"):
        yield f"{name}: not a CSV file at the root"
    if not text.endswith("\r\n") or re.search(r"(?<!\r)\n|\r(?!\n)", text):
        yield f"{name}: another line end than CRLF"
    lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    if len(lines) < 2:
        yield f"{name}: no rows"
    if any(len(line) != len(lines[0]) for line in lines):
        yield f"{name}: a row with more or fewer fields"
    if any("\r" in field or "\n" in field for line in lines for field in line):
        yield f"{name}: a line break in a field"


def _rows(file: str, rows: list[Row], ids: Mapping[str, set[str]], version: str) -> Iterator[str]:
    expected = header(file, version)
    if rows and [name for name in rows[0] if not name.startswith("metadata.")] != expected:
        yield f"{file}.csv: another header"
        return
    if len(ids[file]) < len(rows):
        yield f"{file}.csv: a sourcedId is there twice"
    for row in rows:
        place = f"{file}.csv: {row['sourcedId']}"
        if not re.fullmatch(GUID, row["sourcedId"]):
            yield f"{place}: sourcedId"
        if row["status"] or row["dateLastModified"]:
            yield f"{place}: status or dateLastModified in bulk"
        for column in tables(version)[file]:
            if problem := _problem(column, row[column.name], ids):
                yield f"{place}: {column.name} {problem}"


def _problem(column: Column, value: str, ids: Mapping[str, set[str]]) -> str:
    if not value:
        return "is required" if column.required else ""
    if column.format == "Enumeration":
        is_extension = column.is_open and value.startswith("ext:")
        return "" if value in column.values or is_extension else f"is {value}"
    if not re.fullmatch(FORMATS[column.format], value):
        return f"is no {column.format}"
    if column.to:
        return "" if set(value.split(",")) <= ids.get(column.to, set()) else f"is not in {column.to}"
    return ""


def _together(rows: Rows) -> Iterator[str]:
    """What the standard's texts say of several rows and files."""
    sessions = {row["sourcedId"]: row for row in rows.get("academicSessions", [])}
    classes = {row["sourcedId"]: row for row in rows.get("classes", [])}
    schools = {row["sourcedId"] for row in rows.get("orgs", []) if row["type"] == "school"}
    students = {row["userSourcedId"] for row in rows.get("roles", []) if row["role"] == "student"}
    items = {row["sourcedId"]: row for row in rows.get("lineItems", [])}
    users = {row["sourcedId"] for row in rows.get("users", [])}
    for session in sessions.values():
        if session["endDate"] <= session["startDate"]:
            yield f"{session['sourcedId']}: endDate is exclusive"
    for file, some in rows.items():
        for row in some:
            if "schoolSourcedId" in row and row["schoolSourcedId"] not in schools:
                yield f"{file}.csv: {row['sourcedId']}: schoolSourcedId is no school"
            subjects, codes = row.get("subjects"), row.get("subjectCodes")
            if bool(subjects) != bool(codes) or (subjects or "").count(",") != (codes or "").count(","):
                yield f"{file}.csv: {row['sourcedId']}: subjects and subjectCodes differ"
    # Each user has a role, and one in the primary org; a user has one primary role in an org.
    roles = {(row["userSourcedId"], row["orgSourcedId"]) for row in rows.get("roles", [])}
    for row in rows.get("users", []):
        if "primaryOrgSourcedId" in row and (row["sourcedId"], row["primaryOrgSourcedId"]) not in roles:
            yield f"users.csv: no role: {row['sourcedId']}"
    primary = [
        (row["userSourcedId"], row["orgSourcedId"])
        for row in rows.get("roles", [])
        if row["roleType"] == "primary"
    ]
    if len(set(primary)) < len(primary):
        yield "roles.csv: two primary roles of a user in an org"
    if lacking := {row["sourcedId"] for row in rows.get("demographics", [])} - users:
        yield f"demographics.csv: no user: {sorted(lacking)[:3]}"
    yield from _enrollments(rows.get("enrollments", []), classes, sessions)
    for row in items.values():
        if sessions.get(row["academicSessionSourcedId"], {}).get("type") == "schoolYear":
            yield f"{row['sourcedId']}: its session is a year"
    enrolled = {
        (row["classSourcedId"], row["userSourcedId"])
        for row in rows.get("enrollments", [])
        if row["role"] == "student"
    }
    for result in rows.get("results", []):
        item = items.get(result["lineItemSourcedId"])
        if item and result["classSourcedId"] != item["classSourcedId"]:
            yield f"{result['sourcedId']}: another class than its line item"
        if (result["classSourcedId"], result["studentSourcedId"]) not in enrolled:
            yield f"{result['sourcedId']}: the student is not enrolled"
        if result["studentSourcedId"] not in students:
            yield f"{result['sourcedId']}: no student"
        if not (item and result["score"] and item["resultValueMax"]):
            continue
        if not float(item["resultValueMin"]) <= float(result["score"]) <= float(item["resultValueMax"]):
            yield f"{result['sourcedId']}: score {result['score']} of {item['resultValueMax']}"


def _enrollments(
    enrollments: list[Row], classes: Mapping[str, Row], sessions: Mapping[str, Row]
) -> Iterator[str]:
    primary = [row["classSourcedId"] for row in enrollments if row["primary"] == "true"]
    if len(set(primary)) < len(primary):
        yield "enrollments.csv: two primary teachers of a class"
    for row in enrollments:
        if row["primary"] and row["role"] != "teacher":
            yield f"{row['sourcedId']}: primary is for teachers"
        class_ = classes.get(row["classSourcedId"])
        terms = (
            [sessions[id] for id in class_["termSourcedIds"].split(",") if id in sessions] if class_ else []
        )
        if not terms:
            continue
        if row["beginDate"] and row["beginDate"] < min(term["startDate"] for term in terms):
            yield f"{row['sourcedId']}: begins before the term"
        if row["endDate"] and row["endDate"] > max(term["endDate"] for term in terms):
            yield f"{row['sourcedId']}: ends after the term"
