"""Contracts of the metadata of reports. Their records have contracts made from it, query by query."""

from typing import Annotated, ClassVar

from campus.contracts.fields import Contract, Flag, Int, Text, doc

OF_REPORT = doc(
    "Report, by the name or id that settings give it", privacy="label", expected=False, label_zh="报表"
)


class ReportQuery(Contract):
    """A query of a report, whose records can be asked for."""

    label_zh: ClassVar[str] = "报表查询"

    id: Annotated[Int, doc("Query id", privacy="id", label_zh="ID")]
    report: Annotated[Text | None, OF_REPORT] = None
    school_id: Annotated[Int | None, doc("School id", privacy="id", label_zh="学校ID")] = None
    report_id: Annotated[Int | None, doc("Report id", privacy="id", label_zh="报表ID")] = None
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None


class ParameterOption(Contract):
    """A value that a parameter may have."""

    key: Annotated[Text | None, doc("What is sent, numbers as text", privacy="plain", any_json=True)] = None
    label: Annotated[Text | None, doc("What people are shown", privacy="label")] = None


class ReportParameter(Contract):
    """A parameter that a report's queries take."""

    label_zh: ClassVar[str] = "报表参数"

    name: Annotated[Text, doc("Name, by which a value is given", privacy="label", label_zh="名称")]
    report: Annotated[Text | None, OF_REPORT] = None
    type: Annotated[
        Text | None,
        doc(
            "What its values are",
            privacy="plain",
            values=("input", "select", "multi-select", "date-range"),
            label_zh="类型",
        ),
    ] = None
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None
    required: Annotated[
        Flag | None, doc("Whether a value must be given", privacy="plain", label_zh="是否必填")
    ] = None
    options: Annotated[
        list[ParameterOption] | None, doc("Values to choose from", privacy="label", label_zh="选项")
    ] = None
    default_value: Annotated[
        Text | None,
        doc(
            "Value where none is given; several as a JSON list",
            privacy="label",
            any_json=True,
            label_zh="默认值",
        ),
    ] = None


class ReportField(Contract):
    """A field of a query's records, as of the last time that they were read."""

    label_zh: ClassVar[str] = "报表字段"

    name: Annotated[Text, doc("Name, which is the key in records", privacy="label", label_zh="名称")]
    report: Annotated[Text | None, OF_REPORT] = None
    query_id: Annotated[
        Int | None, doc("Query that it belongs to", privacy="id", expected=False, label_zh="查询ID")
    ] = None
    params: Annotated[
        Text | None,
        doc(
            "Values of the matrix that were asked for, such as semester=20; empty: no matrix",
            privacy="label",
            expected=False,
            label_zh="参数组合",
        ),
    ] = None
    kind: Annotated[
        Text | None,
        doc(
            "Kind of its values",
            privacy="plain",
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
            label_zh="类别",
        ),
    ] = None
    position: Annotated[
        Int | None, doc("Place among the fields; smaller is earlier", privacy="plain", label_zh="位置")
    ] = None
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None
    label_in_path: Annotated[
        list[Text] | None,
        doc(
            "Display names of its headers from the topmost down, in a pivot",
            privacy="label",
            label_zh="层级名称",
        ),
    ] = None
    is_dynamic: Annotated[
        Flag | None, doc("Whether the data decide that it is there", privacy="plain", label_zh="是否动态")
    ] = None
    table_name: Annotated[
        Text | None,
        doc(
            "Table of reports that holds its query's records", privacy="label", expected=False, label_zh="表"
        ),
    ] = None
    column_name: Annotated[
        Text | None, doc("Column of that table that holds it", privacy="label", expected=False, label_zh="列")
    ] = None
