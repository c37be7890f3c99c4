"""Who reads which pages (the head of school all, teachers those about their classes), and their folders."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from exports.pages.sections import PageKind, Pages
from exports.site.folders import Role
from warehouse.csv_cells import safe_cell
from warehouse.files import without_separators
from warehouse.published.reading import records

PAGES = "FROM views.reader WHERE school_id = $school_id AND role = $role ORDER BY ALL"
#: The pages of a role that have a workbook. The head has the workbooks of the whole school.
OF_ROLE: Mapping[Role, PageKind] = {"class-teacher": "class", "teacher": "course"}
#: In the folder of a role: the generation of its workbooks, written after the last of them.
WORKBOOKS_NOTE = "workbooks.txt"
#: In the folder of a reader: a script with the names of the workbooks beside the pages.
WORKBOOKS_SCRIPT = "workbooks.js"
#: Bytes of a page's title in the name of its workbook: a name has 255 bytes at most.
LONGEST_NAME = 200


@dataclass(frozen=True)
class Reader:
    """A teacher with the pages that the teacher may see."""

    teacher_id: int
    staff_number: str | None
    name: str | None
    pages: dict[PageKind, list[str]]


def readers_of(con: duckdb.DuckDBPyConnection, school_id: int, role: Role, pages: Pages) -> list[Reader]:
    """The teachers of a role, by id. `pages`: all pages of the school."""
    existing = {kind: set(keys) for kind, keys in pages.items()}
    readers: dict[int, Reader] = {}
    for row in records(con, PAGES, {"school_id": school_id, "role": role}):
        reader = readers.setdefault(
            row["teacher_id"],
            Reader(row["teacher_id"], row["staff_number"], row["teacher_name"], {"index": [*pages["index"]]}),
        )
        if row["page_key"] in existing[row["page_kind"]]:
            reader.pages.setdefault(row["page_kind"], []).append(row["page_key"])
    return list(readers.values())


def delete_other_readers(folder: Path, readers: Sequence[Reader]) -> None:
    """Delete the folders of persons who are no readers of the role any more."""
    folders = {str(reader.teacher_id) for reader in readers}
    for folder_of_reader in _readers_folders(folder):
        if folder_of_reader.name not in folders:
            shutil.rmtree(folder_of_reader)


def _readers_folders(folder: Path) -> list[Path]:
    """The folders of readers in that of a role. Others may put folders with words as names beside them."""
    return [path for path in folder.glob("*/") if path.name.isdecimal()]


def delete_earlier_workbooks(folder: Path, generation: str) -> None:
    """Delete the workbooks of a role that are not of the generation of its pages."""
    note = folder / WORKBOOKS_NOTE
    if note.exists() and note.read_text(encoding="utf-8") == generation:
        return
    for reader in _readers_folders(folder):
        for workbook in reader.glob("*/*.xlsx"):
            workbook.unlink()


def file_names(titles: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    """The names of the workbooks of pages by key: the titles of the pages, such as 高三(1)班.xlsx."""
    names = {key: _file_name(title) for key, title in titles.items() if key in keys}
    # Some file systems ignore case.
    often = Counter(name.casefold() for name in names.values())
    return {
        key: f"{name}.xlsx" if name and often[name.casefold()] == 1 else f"{name} [{key}].xlsx".strip()
        for key, name in names.items()
    }


def _file_name(title: str) -> str:
    """A title as a part of the name of a file. No title ends like the key that equal names get."""
    name = without_separators(title).replace("[", "(").replace("]", ")").encode()[:LONGEST_NAME]
    return name.decode(errors="ignore").strip(" .")


def delete_other_workbooks(folder: Path, names: Mapping[str, str]) -> None:
    """Delete the workbooks of a folder that have none of these names."""
    for workbook in {*folder.glob("*.xlsx")} - {folder / name for name in names.values()}:
        workbook.unlink()


def write_manifest(folder: Path, role: Role, readers: Sequence[Reader]) -> None:
    """Write who may read which folder into the folder of the role, as CSV."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("role", "teacher_id", "staff_number", "name", "folder", "classes", "courses", "students"))
    counted: tuple[PageKind, ...] = ("class", "course", "student")
    for reader in readers:
        person = (reader.teacher_id, reader.staff_number, reader.name, str(reader.teacher_id))
        counts = (len(reader.pages.get(kind, ())) for kind in counted)
        rows.writerow([safe_cell(cell) for cell in (role, *person, *counts)])
    folder.mkdir(parents=True, exist_ok=True)
    write_changed(folder / "manifest.csv", text.getvalue())


def write_workbooks_script(folder: Path, pages: Pages, titles: Mapping[PageKind, Mapping[str, str]]) -> bool:
    """Write which workbooks stand beside the pages of a reader, by page. False: unchanged.

    `titles`: of all pages of the school, by kind, then by key."""
    workbooks = {
        f"{kind}/{key}": name
        for kind in OF_ROLE.values()
        for key, name in file_names(titles[kind], pages.get(kind, ())).items()
        if (folder / kind / name).exists()
    }
    return write_changed(folder / WORKBOOKS_SCRIPT, f"window.campusWorkbooks = {json.dumps(workbooks)};\n")


def write_changed(path: Path, text: str) -> bool:
    """Write a file in place. False: it has this content already."""
    if path.exists() and path.read_bytes() == text.encode("utf-8"):
        return False
    path.parent.mkdir(exist_ok=True)
    # Not flushed to the disk: after a power cut the next export compares and writes it again.
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
    return True
