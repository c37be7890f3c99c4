"""The work of `campus inputs`: checks the files that schools keep themselves, and writes a template."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

import duckdb
import xlsxwriter

from campus.contracts.inputs import KINDS
from campus.files.table_file import TableError
from campus.inputs.interventions import COMMENT, HEADINGS, line_of
from campus.registry import INTERVENTIONS
from loading.inputs import FOLDER, NAMES, input_files, misplaced_files, read_inputs
from pipelines.cli.terminal.display import complain, fail, print_line
from pipelines.deliveries.addresses import addresses_file, addresses_of
from pipelines.lake.opening import lake_of
from pipelines.publication.published_file import why_unreadable
from pipelines.settings.settings import Settings
from untrusted.files import folders_below
from warehouse.lake.delta import Lake
from warehouse.load.logs.load_log import now
from warehouse.published.reading import opened
from warehouse.published.shards import PublicationBroken

#: The fields of the template; the others are known, too.
TEMPLATE = ("usin", "name", "date", "kind", "done_by", "result", "note", "again_on")
#: A line that is a comment, by language.
EXAMPLES = {
    "zh": (
        *("示例（以#开头的行不读取）20230101", "王小明", "2026-11-12", "谈话"),
        *("李老师", "约定每周面谈", "", "2026-11-26"),
    ),
    "en": (
        *("example (a line that begins with # is not read) 20230101", "Wang Xiaoming", "2026-11-12", "talk"),
        *("Ms Li", "meets weekly", "", "2026-11-26"),
    ),
}
KIND_HINTS = {
    "zh": f"可填：{'、'.join(words[0] for words in KINDS.values())}",
    "en": f"One of: {', '.join(KINDS)}",
}


def run_check(settings: Settings, schools: Sequence[int]) -> int:
    """Check the files of schools; none named: of all schools with a folder. Returns the exit status."""
    folder, lake = settings.home / FOLDER, lake_of(settings)
    status = 0
    for problem in misplaced_files(settings.home):
        status = fail(problem)
    folders = folders_below(folder)
    for name in folders:
        if not name.isdecimal():
            status = fail(f"{folder / name} is not loaded: name the folder by the id of its school")
    numbers = schools or [int(name) for name in folders if name.isdecimal()]
    if not numbers:
        print_line(f"No school keeps a file in {folder}.")
    for school_id in numbers:
        has_addresses = os.path.lexists(addresses_file(settings.home, school_id))
        if has_addresses:
            status = max(status, _check_addresses(settings, school_id))
        status = max(status, _check_log(settings.home, lake, school_id, may_be_missing=has_addresses))
    return status


def _check_addresses(settings: Settings, school_id: int) -> int:
    """Check the addresses of a school's teachers, and show none."""
    path = addresses_file(settings.home, school_id)
    if problem := why_unreadable(settings.published):
        return fail(f"{path} cannot be checked: {problem}")
    try:
        with opened(settings.published) as con:
            addresses = addresses_of(settings.home, con, school_id)
    except (TableError, PublicationBroken, duckdb.Error) as error:
        return fail(error)
    for line, reason in addresses.refused:
        complain(f"{path}, line {line}: {reason}")
    print_line(
        f"{path}: teachers with an address: {len(addresses.of_staff)}; refused: {len(addresses.refused)}"
    )
    return 1 if addresses.refused else 0


def _check_log(home: Path, lake: Lake, school_id: int, *, may_be_missing: bool) -> int:
    """Check the log of talks and measures of a school, and the lists beside it."""
    try:
        paths = input_files(home, school_id)
        if not paths and may_be_missing:
            return 0
        if not paths:
            return fail(f"{home / FOLDER / str(school_id)} has no {' or '.join(NAMES)}")
        gathered = read_inputs(lake, school_id, paths, now().date())
    except (TableError, OSError) as error:
        return fail(error)
    for bad in sorted(gathered.bad, key=line_of):
        complain(f"{paths[0].parent}/{line_of(bad)}: {bad.reason}")
    files = ", ".join(path.name for path in paths)
    print_line(
        f"{paths[0].parent}/{files}: lines that load: {len(gathered.rows)}; refused: {len(gathered.bad)}"
    )
    return 1 if gathered.bad else 0


def run_template(path: Path, language: str) -> int:
    """Write the template; an existing file stays. Returns the exit status."""
    headings = [HEADINGS[field][0 if language == "zh" else 1] for field in TEMPLATE]
    example = (f"{COMMENT} {EXAMPLES[language][0]}", *EXAMPLES[language][1:])
    content = _csv(headings, example) if path.suffix.lower() == ".csv" else _xlsx(headings, example, language)
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return fail(f"{path} exists already, and is not replaced")
    name = f"{FOLDER}/<school id>/{INTERVENTIONS.name}{path.suffix.lower()}"
    print_line(f"Wrote {path}. Fill it in, and put it into CAMPUS_HOME as {name}")
    return 0


def _csv(headings: Sequence[str], example: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([headings, example])
    # With a mark, by which spreadsheet programs know UTF-8.
    return text.getvalue().encode("utf-8-sig")


def _xlsx(headings: Sequence[str], example: Sequence[str], language: str) -> bytes:
    content = io.BytesIO()
    with xlsxwriter.Workbook(content, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        bold, text = book.add_format({"bold": True}), book.add_format({"num_format": "@"})
        day, grey = book.add_format({"num_format": "yyyy-mm-dd"}), book.add_format({"font_color": "#808080"})
        # As text, a number has its leading zeros.
        sheet.set_column(0, 0, 24, text)
        sheet.set_column(1, len(headings) - 1, 16)
        sheet.set_column(TEMPLATE.index("date"), TEMPLATE.index("date"), 16, day)
        sheet.write_row(0, 0, headings, bold)
        sheet.write_row(1, 0, example, grey)
        sheet.write_comment(0, TEMPLATE.index("kind"), KIND_HINTS[language])
        sheet.freeze_panes(1, 0)
    return content.getvalue()
