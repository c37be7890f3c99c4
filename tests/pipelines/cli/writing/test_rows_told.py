"""How a command that writes says what became of its rows."""

from pipelines.cli.writing.command import MAX_ROWS, bad_rows
from writeback.outcomes import RowOutcome

AWAY = "http://school.example has not responded"


def refused(line: int, words: str) -> RowOutcome:
    return RowOutcome(line, f"key-{line}", "refused", words)


def test_rows_with_the_same_words_share_a_line() -> None:
    rows = [refused(5, "taken"), refused(3, "taken"), RowOutcome(4, "key-4", "written")]
    assert bad_rows(rows, "") == ["2 rows refused: taken (lines 3, 5)"]
    assert bad_rows(rows[:1], "") == ["line 5: key-5: refused: taken"]


def test_only_some_of_many_rows_are_named() -> None:
    rows = [refused(line, "taken") for line in range(1, MAX_ROWS + 8)]
    [line] = bad_rows(rows, "")
    assert line.startswith(f"{MAX_ROWS + 7} rows refused: taken (lines 1, 2, ")
    assert line.endswith(f", {MAX_ROWS} and 7 more)")


def test_words_that_the_reason_to_stop_repeats_are_said_once() -> None:
    rows = [refused(1, "no scope"), refused(2, "no scope"), refused(3, "")]
    assert bad_rows(rows, "status 403, the platform says: no scope.") == [
        "2 rows refused: for the reason below (lines 1, 2)",
        "line 3: key-3: refused",
    ]
