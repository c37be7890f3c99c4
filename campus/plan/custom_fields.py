"""The contract of v1 users with the custom fields of a school."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

import msgspec

from campus.contracts.fields import Contract, Text, doc, fields
from campus.decoding.column_names import RESERVED, safe_names
from campus.decoding.withholding import WITHHELD
from campus.identity_numbers import is_identity_field
from campus.registry import ResourceSpec

# The column of national id numbers.
ID_NUMBER = "idcard"


@dataclass(frozen=True)
class CustomField:
    """A custom field of users. `options`: its values, if it is one of a choice."""

    name: str
    label: str | None
    options: list[str] | None


def with_custom_fields(
    users: ResourceSpec, custom: Iterable[CustomField], *, keep_id_numbers: bool
) -> ResourceSpec:
    """The resource `users` with a text column for each custom field.

    A field that students and teachers both have is one column. What is never stored has none, nor has what
    has one already. `keep_id_numbers`: the column idcard is filled."""
    standard = {field.wire for field in fields(users.contract)}
    by_name: dict[str, list[CustomField]] = {}
    for each in custom:
        if each.name not in standard | WITHHELD:
            by_name.setdefault(each.name, []).append(each)
    names = dict(zip(by_name, safe_names(by_name, RESERVED | standard), strict=True))
    members: list[Any] = [(names[name], _annotation(each), None) for name, each in by_name.items()]
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
    choices = [each.options for each in same_name if each.options]
    values = tuple(dict.fromkeys(option for options in choices for option in options))
    labels = dict.fromkeys(each.label or each.name for each in same_name)
    names = {same_name[0].name, *labels}
    about = doc(
        f"Custom field: {', '.join(labels)}" + (f". One of {', '.join(values)}" if values else ""),
        # Only where every role that has the field has to choose.
        values=("", *values) if len(choices) == len(same_name) else (),
        enum=True,
        privacy="mixed",
        expected=False,
        identity_number=any(is_identity_field(name) for name in names),
    )
    return Annotated[Text | None, about]
