"""Pinyin of names, so that a search finds 张伟 by zw, zhangwei or zhang."""

from __future__ import annotations

import re
from functools import lru_cache

#: Chinese characters.
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@lru_cache(10_000)
def pinyin_of(text: str) -> str:
    """The initials and the syllables of a text; empty for a text without Chinese characters."""
    if not CHINESE.search(text):
        return ""
    # Loading its tables takes a tenth of a second.
    from pypinyin import lazy_pinyin

    syllables = lazy_pinyin(text, errors="ignore")
    return f"{''.join(syllable[0] for syllable in syllables)} {''.join(syllables)}"
