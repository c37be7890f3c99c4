"""Contracts of the metadata of datasets. Their records have contracts made from it, dataset by dataset."""

from typing import Annotated, ClassVar

from campus.contracts.fields import Contract, Flag, Int, Text, WallClock, doc


class Dataset(Contract):
    """A dataset that the platform offers; its fields and relations are tables of their own."""

    label_zh: ClassVar[str] = "数据集"

    id: Annotated[Int, doc("Dataset id", privacy="id", label_zh="ID")]
    name: Annotated[
        Text | None, doc("Name, by which its records are asked for", privacy="label", label_zh="名称")
    ] = None
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None
    description: Annotated[Text | None, doc("Description", privacy="label", label_zh="说明")] = None
    is_custom: Annotated[
        Flag | None, doc("Whether the school defined it", privacy="plain", label_zh="是否自定义")
    ] = None
    created_at: Annotated[
        WallClock | None, doc("When it was defined", privacy="moment", label_zh="创建时间")
    ] = None
    updated_at: Annotated[
        WallClock | None, doc("When its definition last changed", privacy="moment", label_zh="更新时间")
    ] = None
    last_updated_at: Annotated[
        WallClock | None,
        doc(
            "Last update of the underlying data; null: not provided",
            privacy="moment",
            label_zh="数据更新时间",
        ),
    ] = None


class DatasetField(Contract):
    """A field of a dataset's records."""

    label_zh: ClassVar[str] = "数据集字段"

    name: Annotated[Text, doc("Name, which is the key in records", privacy="label", label_zh="名称")]
    dataset_id: Annotated[
        Int | None, doc("Dataset that it belongs to", privacy="id", expected=False, label_zh="数据集ID")
    ] = None
    id: Annotated[Int | None, doc("Field id", privacy="id", label_zh="ID")] = None
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None
    description: Annotated[Text | None, doc("Description", privacy="label", label_zh="说明")] = None
    type: Annotated[
        Text | None,
        doc(
            "Type of its values",
            privacy="plain",
            values=("integer", "decimal", "string", "enum", "date", "timestamp", "boolean", "text"),
            label_zh="类型",
        ),
    ] = None
    position: Annotated[
        Int | None, doc("Place among the fields; smaller is earlier", privacy="plain", label_zh="位置")
    ] = None
    primary: Annotated[
        Flag | None, doc("Whether it is (part of) the primary key", privacy="plain", label_zh="是否主键")
    ] = None
    enum: Annotated[
        list[Text] | None,
        doc("Values of a field of type enum, numbers as text", privacy="label", label_zh="可选值"),
    ] = None
    max_length: Annotated[
        Int | None,
        doc(
            "Greatest length of a string, characters", privacy="plain", label_zh="最大长度", unit="characters"
        ),
    ] = None
    precision: Annotated[Int | None, doc("Digits of a decimal in all", privacy="plain", label_zh="精度")] = (
        None
    )
    scale: Annotated[
        Int | None, doc("Digits of a decimal after the point", privacy="plain", label_zh="小数位数")
    ] = None
    created_at: Annotated[
        WallClock | None, doc("When it was defined", privacy="moment", label_zh="创建时间")
    ] = None
    updated_at: Annotated[
        WallClock | None, doc("When its definition last changed", privacy="moment", label_zh="更新时间")
    ] = None


class DatasetRelation(Contract):
    """A relation of a dataset that its records can be expanded by."""

    label_zh: ClassVar[str] = "数据集关联"

    name: Annotated[Text, doc("Name, which `expand` takes", privacy="label", label_zh="名称")]
    dataset_id: Annotated[
        Int | None, doc("Dataset that it belongs to", privacy="id", expected=False, label_zh="数据集ID")
    ] = None
    id: Annotated[Int | None, doc("Relation id", privacy="id", label_zh="ID")] = None
    label: Annotated[Text | None, doc("Display name", privacy="label", label_zh="显示名称")] = None
    ref_name: Annotated[
        Text | None, doc("Name of the dataset that it leads to", privacy="label", label_zh="目标数据集")
    ] = None
    related_by: Annotated[
        Text | None, doc("Field of this dataset that it goes by", privacy="label", label_zh="关联字段")
    ] = None
