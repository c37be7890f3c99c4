"""Compares a roster with the platform's users: joins two frames, then compares them column by column.

Values are compared as text, and an empty text is no value. All columns that are no fields have an underscore
in their names. The name of a school's own field has letters and digits only.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl
from polars.dataframe.group_by import GroupBy

from writeback.roster.fields import SECRET, STUDENT, STUDENT_OUTER_ID
from writeback.roster.people import Person
from writeback.roster.rows import RosterRow

#: Why a row has no user whom it may change.
Problem = Literal["same_outer_id", "same_usin", "usin_of_another", "usin_unlinked", "other_role"]
#: Secrets are never compared, and a guardian's student is compared by id.
NOT_COMPARED = (*SECRET, STUDENT_OUTER_ID)
#: Fields that the joins need, whether the roster has them or not.
NEEDED = ("outer_id", "usin", "role", "student_id")
#: What `compare` says of a row.
COLUMNS = (
    "row_line",
    # The id of the user; null: there is no such user yet, or there is a problem.
    "user_id",
    "match_problem",
    # The ids of the users with the row's outer_id, and with its usin.
    "outer_id_users",
    "usin_users",
    # The outer_id of the first user with the row's usin.
    "usin_outer_id",
    # The role of the user whom the row names.
    "user_role",
    # Of a guardian's student: the ids with that outer_id, the line in the roster, and the id that it is.
    "student_users",
    "student_line",
    "student_user",
    "changed_fields",
)


def compare(rows: Sequence[RosterRow], people: Sequence[Person], *, link_by_usin: bool) -> pl.DataFrame:
    """Find the rows that differ from the platform, with the COLUMNS that say how.

    Args:
        link_by_usin: a user without an outer_id is the user of the row with the same usin."""
    fields = [*dict.fromkeys([*NEEDED, *(name for row in rows for name in row.values)])]
    fields = [name for name in fields if name not in NOT_COMPARED]
    users = _frame("user_id", [person["id"] for person in people], people, fields)
    values = [row.values for row in rows]
    roster = _frame("row_line", [row.line for row in rows], values, [*fields, STUDENT_OUTER_ID])
    matched = _with_student(_with_user(roster, users, link_by_usin=link_by_usin), users)
    compared = matched.join(users, on="user_id", how="left", suffix="_there")
    changed = [
        pl.when(pl.col(name) != pl.col(f"{name}_there").fill_null("")).then(pl.lit(name)) for name in fields
    ]
    has_user = pl.col("user_id").is_not_null()
    lacks_student = (pl.col(STUDENT_OUTER_ID) != "") & pl.col("student_user").is_null()
    return (
        compared.with_columns(changed_fields=pl.concat_list(changed).list.drop_nulls())
        .filter(~has_user | (pl.col("changed_fields").list.len() > 0) | lacks_student)
        .select(COLUMNS)
    )


def _frame(
    key: str, keys: Sequence[int], values: Sequence[Mapping[str, Any]], fields: Sequence[str]
) -> pl.DataFrame:
    """The fields as columns of text. Empty: the field has no value. Null: nothing is said of the field."""
    columns = {
        name: pl.Series([_text(row[name]) if name in row else None for row in values], dtype=pl.String)
        for name in fields
    }
    return pl.DataFrame({key: pl.Series(keys, dtype=pl.Int64), **columns})


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _with_user(roster: pl.DataFrame, users: pl.DataFrame, *, link_by_usin: bool) -> pl.DataFrame:
    """Join the user of each row by outer_id, or else by usin."""
    by_outer_id = _grouped(users, "outer_id").agg(outer_id_users="user_id", outer_id_role=pl.first("role"))
    by_usin = _grouped(users, "usin").agg(
        usin_users="user_id", usin_role=pl.first("role"), usin_outer_id=pl.first("outer_id")
    )
    joined = roster.join(by_outer_id, on="outer_id", how="left").join(by_usin, on="usin", how="left")
    ids, usin_ids = pl.col("outer_id_users"), pl.col("usin_users")
    by_usin_only = ids.is_null() & usin_ids.is_not_null()
    role = pl.when(by_usin_only).then("usin_role").otherwise("outer_id_role")
    problem = (
        pl.when(ids.list.len() > 1)
        .then(pl.lit("same_outer_id"))
        .when(by_usin_only & (usin_ids.list.len() > 1))
        .then(pl.lit("same_usin"))
        .when(by_usin_only & (pl.col("usin_outer_id") != ""))
        .then(pl.lit("usin_of_another"))
        .when(by_usin_only & (not link_by_usin))
        .then(pl.lit("usin_unlinked"))
        .when(role != pl.col("role"))
        .then(pl.lit("other_role"))
    )
    user = pl.when(problem.is_null()).then(pl.coalesce(ids.list.first(), usin_ids.list.first()))
    return joined.with_columns(user_id=user, match_problem=problem, user_role=role)


def _with_student(matched: pl.DataFrame, users: pl.DataFrame) -> pl.DataFrame:
    """Join the student of each guardian: the platform's, or else the student of another row."""
    is_student = pl.col("role") == str(STUDENT)
    on_platform = _grouped(users.filter(is_student), "outer_id").agg(student_users="user_id")
    in_roster = matched.filter(is_student).select(
        "outer_id", student_line="row_line", student_row_user="user_id"
    )
    joined = matched
    for students in (on_platform, in_roster):
        joined = joined.join(students, left_on=STUDENT_OUTER_ID, right_on="outer_id", how="left")
    ids = pl.col("student_users")
    student = pl.when(ids.is_null()).then("student_row_user").when(ids.list.len() == 1).then(ids.list.first())
    return joined.with_columns(
        student_user=student, student_id=pl.coalesce(student.cast(pl.String), "student_id")
    )


def _grouped(users: pl.DataFrame, by: str) -> GroupBy:
    return users.filter(pl.col(by) != "").group_by(by, maintain_order=True)
