"""Contracts of the metadata of datasets. Their records have contracts made from it, dataset by dataset."""

from typing import Annotated

from campus.contract import Contract, Flag, Int, Text, WallClock, doc


class Dataset(Contract):
    """A dataset that the platform offers; its fields and relations are tables of their own."""

    id: Annotated[Int, doc("Dataset id")]
    name: Annotated[Text | None, doc("Name, by which its records are asked for")] = None
    label: Annotated[Text | None, doc("Display name")] = None
    description: Annotated[Text | None, doc("Description")] = None
    is_custom: Annotated[Flag | None, doc("Whether the school defined it")] = None
    created_at: Annotated[WallClock | None, doc("When it was defined")] = None
    updated_at: Annotated[WallClock | None, doc("When its definition last changed")] = None
    last_updated_at: Annotated[
        WallClock | None, doc("Last update of the underlying data; null: not provided")
    ] = None


class DatasetField(Contract):
    """A field of a dataset's records."""

    name: Annotated[Text, doc("Name, which is the key in records")]
    dataset_id: Annotated[Int | None, doc("Dataset that it belongs to", expected=False)] = None
    id: Annotated[Int | None, doc("Field id")] = None
    label: Annotated[Text | None, doc("Display name")] = None
    description: Annotated[Text | None, doc("Description")] = None
    type: Annotated[
        Text | None,
        doc(
            "Type of its values",
            values=("integer", "decimal", "string", "enum", "date", "timestamp", "boolean", "text"),
        ),
    ] = None
    position: Annotated[Int | None, doc("Place among the fields; smaller is earlier")] = None
    primary: Annotated[Flag | None, doc("Whether it is (part of) the primary key")] = None
    enum: Annotated[list[Text] | None, doc("Values of a field of type enum, numbers as text")] = None
    max_length: Annotated[Int | None, doc("Greatest length of a string, characters")] = None
    precision: Annotated[Int | None, doc("Digits of a decimal in all")] = None
    scale: Annotated[Int | None, doc("Digits of a decimal after the point")] = None
    created_at: Annotated[WallClock | None, doc("When it was defined")] = None
    updated_at: Annotated[WallClock | None, doc("When its definition last changed")] = None


class DatasetRelation(Contract):
    """A relation of a dataset that its records can be expanded by."""

    name: Annotated[Text, doc("Name, which `expand` takes")]
    dataset_id: Annotated[Int | None, doc("Dataset that it belongs to", expected=False)] = None
    id: Annotated[Int | None, doc("Relation id")] = None
    label: Annotated[Text | None, doc("Display name")] = None
    ref_name: Annotated[Text | None, doc("Name of the dataset that it leads to")] = None
    related_by: Annotated[Text | None, doc("Field of this dataset that it goes by")] = None
