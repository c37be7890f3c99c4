"""Contracts of the metadata of reports. Their records have contracts made from it, query by query."""

from typing import Annotated

from campus.contract import Contract, Flag, Int, Text, doc

OF_REPORT = doc("Report, by the name or id that settings give it", expected=False)


class ReportQuery(Contract):
    """A query of a report, whose records can be asked for."""

    id: Annotated[Int, doc("Query id")]
    report: Annotated[Text | None, OF_REPORT] = None
    school_id: Annotated[Int | None, doc("School id")] = None
    report_id: Annotated[Int | None, doc("Report id")] = None
    label: Annotated[Text | None, doc("Display name")] = None


class ParameterOption(Contract):
    """A value that a parameter may have."""

    key: Annotated[Text | None, doc("What is sent, numbers as text", any_json=True)] = None
    label: Annotated[Text | None, doc("What people are shown")] = None


class ReportParameter(Contract):
    """A parameter that a report's queries take."""

    name: Annotated[Text, doc("Name, by which a value is given")]
    report: Annotated[Text | None, OF_REPORT] = None
    type: Annotated[
        Text | None,
        doc("What its values are", values=("input", "select", "multi-select", "date-range")),
    ] = None
    label: Annotated[Text | None, doc("Display name")] = None
    required: Annotated[Flag | None, doc("Whether a value must be given")] = None
    options: Annotated[list[ParameterOption] | None, doc("Values to choose from")] = None
    default_value: Annotated[
        Text | None, doc("Value where none is given; several as a JSON list", any_json=True)
    ] = None


class ReportField(Contract):
    """A field of a query's records, as of the last time that they were read."""

    name: Annotated[Text, doc("Name, which is the key in records")]
    report: Annotated[Text | None, OF_REPORT] = None
    query_id: Annotated[Int | None, doc("Query that it belongs to", expected=False)] = None
    params: Annotated[
        Text | None,
        doc(
            "Values of the matrix that were asked for, such as semester=20; empty: no matrix", expected=False
        ),
    ] = None
    kind: Annotated[
        Text | None,
        doc(
            "Kind of its values",
            values=(
                "int",
                "float",
                "decimal",
                "string",
                "text",
                "date",
                "timestamp",
                "enum",
                "attachment",
            ),
        ),
    ] = None
    position: Annotated[Int | None, doc("Place among the fields; smaller is earlier")] = None
    label: Annotated[Text | None, doc("Display name")] = None
    label_in_path: Annotated[
        list[Text] | None, doc("Display names of its headers from the topmost down, in a pivot")
    ] = None
    is_dynamic: Annotated[Flag | None, doc("Whether the data decide that it is there")] = None
    table_name: Annotated[
        Text | None, doc("Table of reports that holds its query's records", expected=False)
    ] = None
    column_name: Annotated[Text | None, doc("Column of that table that holds it", expected=False)] = None
