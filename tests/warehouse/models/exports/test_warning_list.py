"""The exported list of early warning, filled in and read back."""

from datetime import datetime
from pathlib import Path

import openpyxl
import pytest

from campus.files.table_file import named_file, table_in
from campus.inputs.interventions import NOTE, TALK_DATE, lines_of_list
from exports.export import Options, Written, export
from exports.spreadsheet.sheets import LANGUAGES, Language
from tests.kits.exports.spreadsheets import filtered
from tests.kits.models.builds import Build
from tests.kits.models.publishing import SCHOOL, publish_strictly


@pytest.mark.parametrize("language", LANGUAGES)
def test_notes_are_read_back_from_a_sorted_list(healthy: Build, tmp_path: Path, language: Language) -> None:
    published = publish_strictly(healthy, tmp_path)
    [end] = export(published, ["early_warning"], [SCHOOL], Options(tmp_path / "out", language=language))
    assert isinstance(end, Written)
    assert lines_of_list(table_in(named_file(end.path), [*TALK_DATE, *NOTE])).rows == (), "nobody has written"

    place = LANGUAGES.index(language)
    book = openpyxl.load_workbook(end.path)
    sheet = book["学生" if language == "zh" else "Students"]
    [header, *rows] = sheet[filtered(sheet)]
    columns = {cell.value: number for number, cell in enumerate(header)}
    by_number = {row[columns[("学号", "Student number")[place]]].value: row for row in rows}
    assert len(by_number) == len(rows) > 1
    number, row = next(iter(by_number.items()))
    row[columns[TALK_DATE[place]]].value = datetime(2026, 3, 2)
    row[columns[NOTE[place]]].value = "tired"
    # As a sort of the table does.
    values = [[cell.value for cell in row] for row in rows]
    for row, sorted_values in zip(rows, reversed(values), strict=True):
        for cell, value in zip(row, sorted_values, strict=True):
            cell.value = value
    book.save(end.path)

    [line] = lines_of_list(table_in(named_file(end.path), [*TALK_DATE, *NOTE])).rows
    name = values[0][columns[("姓名", "Student")[place]]]
    assert line.cells == {"usin": number, "name": name, "date": "2026-03-02", "kind": "talk", "note": "tired"}
