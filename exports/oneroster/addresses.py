"""Email addresses of the people in users.csv, for receivers that match people by address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import duckdb

from warehouse.identifiers import literal

#: The platform's own addresses, or those of staff by school and staff number.
Addresses = Literal["platform"] | Mapping[int, Mapping[str, str]]
#: Begins like no formula.
ADDRESS = r"[A-Za-z0-9_][A-Za-z0-9._%+'-]*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+"
OF_PLATFORM = """
    SELECT
        people.school_id || CASE kind WHEN 'staff' THEN '-teacher-' ELSE '-student-' END || person_id AS id,
        trim(users.email) AS address
    FROM core.bridge_v1_person AS people
    JOIN raw.v1_users AS users ON users._school_id = people.school_id AND users.id = people.v1_person_id
    WHERE people.kind IN ('student', 'staff') AND users._deleted_at IS NULL
"""
OF_STAFF = """
    SELECT school_id || '-teacher-' || teacher_id AS id, address
    FROM core.dim_teacher
    JOIN (SELECT unnest($addresses, recursive := true)) USING (school_id, staff_number)
    WHERE NOT is_deleted
"""
#: An address of two people would make a receiver take them for one person: neither gets it.
ADD = """
    UPDATE {users} AS users SET email = addresses.address
    FROM (
        SELECT id, address FROM ({addresses})
        WHERE regexp_full_match(address, {pattern}) AND id IN (SELECT "sourcedId" FROM {users})
        QUALIFY count(*) OVER (PARTITION BY lower(address)) = 1 AND count(*) OVER (PARTITION BY id) = 1
    ) AS addresses
    WHERE addresses.id = users."sourcedId"
"""


def add_addresses(con: duckdb.DuckDBPyConnection, users: str, addresses: Addresses) -> None:
    """Put the addresses into the table of users. A malformed address is left out."""
    query = OF_PLATFORM if addresses == "platform" else OF_STAFF
    parameters = {} if addresses == "platform" else {"addresses": _rows(addresses)}
    con.execute(ADD.format(users=users, addresses=query, pattern=literal(ADDRESS)), parameters)


def _rows(addresses: Mapping[int, Mapping[str, str]]) -> list[dict[str, int | str]]:
    return [
        {"school_id": school_id, "staff_number": number, "address": address}
        for school_id, of_school in addresses.items()
        for number, address in of_school.items()
    ]
