"""Each command of the transcripts ends with the exit status and the whole output of its transcript."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kits.transcripts import SECRET, played

TRANSCRIPTS = Path(__file__).with_name("transcripts")
WRITE_ANEW = "read what differs; if it is meant: CAMPUS_WRITE_TRANSCRIPTS=1 .venv/bin/pytest " + str(
    Path("tests", "pipelines", "cli", "test_transcripts.py")
)


@pytest.mark.parametrize(
    "path", sorted(TRANSCRIPTS.rglob("*.txt")), ids=lambda path: str(path.relative_to(TRANSCRIPTS))
)
def test_commands_print_what_their_transcript_says(path: Path, new_home: Callable[[], Path]) -> None:
    output = played(path.read_text(encoding="utf-8"), new_home)
    if os.environ.get("CAMPUS_WRITE_TRANSCRIPTS"):
        path.write_text(output, encoding="utf-8")
    assert output == path.read_text(encoding="utf-8"), WRITE_ANEW


def test_no_transcript_shows_a_secret(new_home: Callable[[], Path]) -> None:
    with pytest.raises(AssertionError, match="a secret is shown"):
        played(f"% echo {SECRET}\n", new_home)
