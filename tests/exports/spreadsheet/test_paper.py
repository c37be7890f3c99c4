"""How a sheet lies on paper: large enough to read, a page a class, and nothing told in each row that is told
once."""

from pathlib import Path

from openpyxl.worksheet.worksheet import Worksheet

from exports.spreadsheet.sheets import Change, Chart, Column, Figure, Words
from exports.spreadsheet.styles import (
    DIGIT,
    FONT,
    FONT_SIZE,
    LENGTHWISE,
    LINE_HEIGHT,
    UPRIGHT,
    WIDER_FONT,
    page_height,
)
from tests.kits.exports.published_file import ANY, write

PUPILS = """
    SELECT '2025' AS term, 'Class ' || n // 4 AS class, 'S' || n AS pupil, n AS score, 5 AS lessons,
        NULL::VARCHAR AS remark, -n / 10 AS change
    FROM range(10) t (n) ORDER BY n
"""
#: Classes of one name, told apart by their ids.
PAGED = PUPILS.replace("'Class ' || n // 4 AS class", "n // 4 AS class_id, 'Class' AS class")
COLUMNS = {"change": Column(signed=True), "lessons": Column(groups=(Words("Due", "应"),))}


def points(sheet: Worksheet) -> float:
    """The size of letters on paper, by the width of the columns that is to fit."""
    columns = sheet.column_dimensions.values()
    width = sum(DIGIT * column.width * (column.max - column.min + 1) for column in columns)
    across = LENGTHWISE if sheet.page_setup.orientation == "landscape" else UPRIGHT
    assert sheet["A1"].font.name == FONT
    return FONT_SIZE * min(1.0, across * pages(sheet) / width)


def pages(sheet: Worksheet) -> int:
    """How many lie side by side."""
    return int(sheet.page_setup.fitToWidth or 1)


def test_what_all_rows_have_in_common_is_said_once_above_them(tmp_path: Path) -> None:
    sheet = write(tmp_path, PUPILS, for_paper=True, columns=COLUMNS)
    title, common, about, _, header, first, *_ = (
        [cell.value for cell in row if cell.value is not None] for row in sheet.iter_rows()
    )
    assert (title, about) == (["Any · Any"], ["Any"])
    assert common == ["Term: 2025    Due · Lessons: 5    Remark: —"]
    assert header == ["Class", "Pupil", "Score", "Change"] and first == ["Class 0", "S0", 0, 0]
    # A table that somebody exports as such is as it is.
    assert [cell.value for cell in write(tmp_path, PUPILS)[1]] == [
        "Term", "Class", "Pupil", "Score", "Lessons", "Remark", "Change"
    ]  # fmt: skip


def test_a_page_begins_with_each_class_and_a_sign_tells_a_direction(tmp_path: Path) -> None:
    notice = Words("For you", "供本人使用")
    columns = COLUMNS | {"class": Column(stays=True)}
    sheet = write(tmp_path, PAGED, for_paper=True, columns=columns, breaks="class_id", notice=notice)
    first = next(row[0].row for row in sheet.iter_rows() if row[1].value == "S0")
    assert [cell.value for cell in sheet[first - 1]] == ["Class", "Pupil", "Score", "Change"]
    # Excel counts the rows above a break.
    assert [break_.id for break_ in sheet.row_breaks.brk] == [first + 3, first + 7]
    assert sheet.print_title_rows == f"${first - 1}:${first - 1}"
    assert sheet.cell(first, 4).number_format.startswith("+") and points(sheet) == FONT_SIZE
    assert "For you" in str(sheet.oddFooter.left.text) and sheet.cell(first - 3, 1).value == "Any\nFor you"


def test_letters_are_10_points_at_least_and_wide_tables_lie_side_by_side(tmp_path: Path) -> None:
    for count, side_by_side in ((8, 1), (12, 1), (40, 3)):
        columns = ", ".join(f"{place} * 1000 + n AS column_{place}" for place in range(count))
        query = f"SELECT 'Pupil ' || n AS pupil, {columns} FROM range(3) t (n)"
        sheet = write(tmp_path, query, for_paper=True)
        assert pages(sheet) == side_by_side and points(sheet) >= 10
        assert sheet.print_title_cols == ("$A:$A" if side_by_side > 1 else None)


def test_figures_stand_above_the_table_and_a_chart_on_the_same_page(tmp_path: Path) -> None:
    change = Change(ANY, Words("▲ 3 (better)", "▲ 3（好转）"), good=True)
    figures = tuple(Figure(name, Words(name, name), Words("7", "7"), ANY, (change,)) for name in "abc")
    chart = Chart("line", ANY, "pupil", ("score",))
    few, many = (PUPILS.replace("range(10)", f"range({rows})") for rows in (3, 60))
    sheet = write(tmp_path, few, for_paper=True, figures=figures, charts=(chart,))
    texts = [cell.value for row in sheet.iter_rows(max_row=10) for cell in row]
    assert texts.count("7") == 3 and texts.count("Any ▲ 3 (better)") == 3
    assert sheet.page_setup.orientation == "landscape" and points(sheet) >= 10
    assert len(sheet._charts) == 1 and not sheet.row_breaks.brk
    # A chart for which the page has no room begins the next one.
    long = write(tmp_path, many, for_paper=True, charts=(chart,))
    assert [break_.id for break_ in long.row_breaks.brk] == [long.max_row]


def test_a_class_is_on_one_page_in_letters_of_8_points(tmp_path: Path) -> None:
    """A class that a page holds in letters of 8 points is made so small, and a larger one begins a page."""
    scales = {}
    for size in (4, 50, 56, 80):
        query = PAGED.replace("n // 4", f"n // {size}").replace("range(10)", f"range({2 * size})")
        sheet = write(tmp_path, query, for_paper=True, breaks="class_id")
        assert [break_.id for break_ in sheet.row_breaks.brk] == [sheet.max_row - size]
        scales[size] = sheet.page_setup.scale
        # Excel ignores the page breaks of a sheet that is fitted to pages.
        assert not sheet.sheet_properties.pageSetUpPr.fitToPage
    assert scales[4] is None and scales[80] is None
    assert 100 > scales[50] > scales[56] >= 100 * 8 / FONT_SIZE - 1
    # Lines of 15.75 points, and what is above them: what the page has room for, of 763 points.
    assert 56 * 15.75 * scales[56] / 100 < 763


def test_what_is_said_above_pages_side_by_side_is_on_the_first(tmp_path: Path) -> None:
    """A program makes such pages no smaller than it must, so the text may be as wide as one at full size."""
    columns = ", ".join(f"{place} * 1000 + n AS column_{place}" for place in range(20))
    query = f"SELECT 'Pupil ' || n AS pupil, {columns} FROM range(3) t (n)"
    sheet = write(tmp_path, query, for_paper=True)
    assert pages(sheet) == 2
    [said] = [merged for merged in sheet.merged_cells.ranges if sheet.cell(merged.min_row, 1).value == ANY.en]
    widths = [
        DIGIT * dimension.width
        for dimension in sheet.column_dimensions.values()
        for place in range(dimension.min, dimension.max + 1)
        if place <= said.max_col
    ]
    assert sum(widths) <= LENGTHWISE / WIDER_FONT, "the font of another program may be wider"


def test_a_column_fills_the_rest_of_a_page(tmp_path: Path) -> None:
    query = PUPILS.replace("NULL::VARCHAR", "if(n > 0, repeat('reason ', 20), '')")
    sheet = write(tmp_path, query, for_paper=True, fills="remark")
    assert sheet.page_setup.orientation == "landscape" and pages(sheet) == 1 and points(sheet) >= 10


def test_a_sheet_on_one_page_has_the_largest_text_that_fits(tmp_path: Path) -> None:
    query = """
        SELECT 'S' || n AS pupil, n AS score, if(n % 5 = 0, repeat('absent too often; ', 4), NULL) AS remark
        FROM range({}) t (n)
    """
    sizes = []
    for count in (20, 40, 60):
        sheet = write(tmp_path, query.format(count), on_one_page=True, fills="remark")
        assert sheet.page_setup.orientation != "landscape" and pages(sheet) == 1
        assert sheet.sheet_properties.pageSetUpPr.fitToPage and int(sheet.page_setup.fitToHeight or 1) == 1
        assert [cell.value for cell in sheet["A"]][:2] == ["Any · Any", "Any"]
        heights = [sheet.row_dimensions[row].height or LINE_HEIGHT for row in range(1, sheet.max_row + 1)]
        sizes.append(min(points(sheet), FONT_SIZE * page_height(LENGTHWISE) / sum(heights)))
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 9 and sizes[-1] > 7
