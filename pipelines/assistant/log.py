"""The log of an assistant's questions, in the home. No word in it can name a person."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from warehouse.load.logs.load_log import now

#: In the home.
FOLDER = "assistant"
#: The size from which a start moves the log aside.
LOG_BYTES = 5_000_000
#: Texts, comments, quoted and Chinese names, long numbers, and words.
PARTS = re.compile(
    r"""e?'(?:[^'\\]|''|\\.)*(?:'|\Z)|"[^"]*(?:"|\Z)|\$(\w*)\$.*?(?:\$\1\$|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)"""
    r"""|[^\x00-\x7f]+|\d{4,}|(?P<word>[a-z_]\w*)""",
    re.DOTALL | re.IGNORECASE,
)
HIDDEN = "…"


def open_log(home: Path) -> Path:
    """The log of a home, which only its owner can read. A large one is moved aside."""
    log = home / FOLDER / "questions.jsonl"
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".jsonl.1"))
    log.touch(mode=0o600)
    return log


def write_question(
    log: Path, tool: str, question: Mapping[str, Any], seconds: float, problem: str | None
) -> None:
    """Add a question. `problem`: the kind of the error, without its message, which repeats the question."""
    at = f"{now():%Y-%m-%d %H:%M:%S}"
    entry = {"at": at, "tool": tool, **question, "seconds": round(seconds, 3), "refused": problem}
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def masked(text: str, vocabulary: Collection[str]) -> str:
    """A text of which only the words of `vocabulary`, which has them in lower case, stay."""
    return PARTS.sub(
        lambda match: match[0] if (match["word"] or HIDDEN).lower() in vocabulary else HIDDEN, text
    )
