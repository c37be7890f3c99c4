"""Keys of partitions are ids; what they are called stands beside them."""

import pytest

from assets.shared.markdown import table
from assets.shared.partitions import MAX_ROWS, partitions_table
from loading.names import Names

NAMES = Names({101: "启明实验学校"}, {(101, 20): "2024-2025学年上学期"}, {(101, 7): "v1 上学期"})


@pytest.mark.parametrize(
    ("key", "is_v1", "called"),
    [
        ("101:20", False, {"school": "启明实验学校", "semester": "2024-2025学年上学期"}),
        ("101:7:w05", True, {"school": "启明实验学校", "semester": "v1 上学期"}),
        # Semesters that one interface alone lists are asked of the other by the same id.
        ("101:20", True, {"school": "启明实验学校", "semester": "2024-2025学年上学期"}),
        ("101:course_scores:0003", False, {"school": "启明实验学校"}),
        ("101:20:0003", False, {"school": "启明实验学校"}),
        ("999:20", False, {}),
    ],
)
def test_a_partition_is_called_as_its_school_and_semester_are(
    key: str, is_v1: bool, called: dict[str, str]
) -> None:
    assert NAMES.of_partition(key, is_v1=is_v1) == called


def test_all_keys_are_listed_with_their_names_and_no_endless_page_is_made() -> None:
    words = str(partitions_table(["101:20"], ["101:7"], NAMES).value)
    assert "| 101:20 | 启明实验学校 | 2024-2025学年上学期 | v3 |" in words
    assert "| 101:7 | 启明实验学校 | v1 上学期 | v1, attendance |" in words
    many = str(partitions_table([f"101:{number}" for number in range(MAX_ROWS + 3)], [], NAMES).value)
    assert many.endswith("and 3 more")


def test_what_a_name_has_in_it_stays_text() -> None:
    assert table(["school"], [["<b>a|b\nc&amp;"]]).splitlines()[-1] == "| \\<b>a\\|b c\\&amp; |"
