"""OneRoster as CSV, as far as the export goes: standard.yml has its files and their fields."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from exports.library.view_rows import Data
from exports.library.words import content_of
from exports.names import Version


class OneRosterField(Data):
    """A field of a file."""

    required: bool = False
    #: The only values; empty: any.
    values: tuple[str, ...] = ()
    #: A regular expression for all of the value; empty: any value.
    pattern: str = ""
    #: The file to whose sourcedId the value refers; empty: no reference.
    to: str = ""
    #: The value is a list, separated by commas.
    is_list: bool = False


class OneRosterFile(Data):
    """A file of the export."""

    #: The view in schema `oneroster`.
    view: str
    fields: dict[str, OneRosterField]
    #: Two fields with dates; the second is exclusive, so it is later.
    period: tuple[str, str] | None = None
    #: SQL of the rows; empty: all rows of the view.
    rows: str = ""


class OneRosterBinding(Data):
    """A version of the standard."""

    #: The files of the export.
    files: dict[str, OneRosterFile]
    #: All files in the order of the manifest.
    all_files: tuple[str, ...]


_CONTENT = content_of("standard", Path(__file__).parent)
BINDINGS: Mapping[Version, OneRosterBinding] = {
    version: OneRosterBinding.model_validate(_CONTENT[version]) for version in get_args(Version)
}
