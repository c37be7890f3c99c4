"""The contract of v1 users with the custom fields of a school."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

import msgspec

from campus.contracts.fields import Contract, Text, doc, fields
from campus.decoding.inferred_contract import RESERVED, safe_names
from campus.decoding.withholding import WITHHELD
from campus.identity_numbers import is_identity_field
from campus.registry import ResourceSpec

# The column of national id numbers.
ID_NUMBER = "idcard"


@dataclass(frozen=True)
class CustomField:
    """A custom field of users."""

    name: str
    label: str | None
    #: Its values, if it is a choice.
    options: list[str] | None


def with_custom_fields(
    users: ResourceSpec, custom: Iterable[CustomField], *, keep_id_numbers: bool
) -> ResourceSpec:
    """The resource `users` with a text column for each custom field.

    Fields of students and teachers with the same name share a column. Fields that are never stored, or that
    the contract has, get no column. keep_id_numbers: add the column idcard."""
    standard = {field.wire for field in fields(users.contract)}
    by_name: dict[str, list[CustomField]] = {}
    for custom_field in custom:
        if custom_field.name not in standard | WITHHELD:
            by_name.setdefault(custom_field.name, []).append(custom_field)
    names = dict(zip(by_name, safe_names(by_name, RESERVED | standard), strict=True))
    members: list[Any] = [(names[name], _annotation(same_name), None) for name, same_name in by_name.items()]
    if keep_id_numbers:
        about = doc("National id number", privacy="number", expected=False, any_json=True)
        members.append((ID_NUMBER, Annotated[Text | None, about], None))
    if not members:
        return users
    contract = msgspec.defstruct(
        "User",
        members,
        bases=(users.contract,),
        namespace={"__doc__": users.contract.__doc__},
        rename={column: name for name, column in names.items()},
        kw_only=True,
    )
    return replace(users, contract=cast(type[Contract], contract))


def _annotation(same_name: list[CustomField]) -> Any:
    choices = [custom_field.options for custom_field in same_name if custom_field.options]
    values = tuple(dict.fromkeys(option for options in choices for option in options))
    labels = dict.fromkeys(custom_field.label or custom_field.name for custom_field in same_name)
    names = {same_name[0].name, *labels}
    about = doc(
        f"Custom field: {', '.join(labels)}" + (f". One of {', '.join(values)}" if values else ""),
        # Only where the field is a choice for every role that has it.
        values=("", *values) if len(choices) == len(same_name) else (),
        enum=True,
        privacy="mixed",
        expected=False,
        identity_number=any(is_identity_field(name) for name in names),
    )
    return Annotated[Text | None, about]
