"""Converts columns of timestamps that a platform sends with their zone; `coercion` converts one value."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

# The forms that both ways of decoding read alike: to microseconds at most, the offset in hours and minutes.
FORM = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$"
# The platform's zone, Asia/Shanghai, has not changed its clocks since 1991.
_OFFSET = pa.scalar(timedelta(hours=8), pa.duration("us"))
_SINCE = pa.scalar(datetime(1992, 1, 1), pa.timestamp("us", "UTC"))
_UNTIL = pa.scalar(datetime(9999, 1, 1), pa.timestamp("us", "UTC"))


def is_zoned(texts: Any) -> bool:
    """Whether a column holds only nulls and timestamps of this form."""
    first = texts.drop_null()[:1]
    if not len(first) or not pc.match_substring_regex(first, FORM)[0].as_py():
        return False
    return bool(pc.all(pc.match_substring_regex(texts, FORM)).as_py())


def wall_clock(texts: Any) -> Any:
    """The platform's wall clock at each of the moments; None where it is not that simple.

    Raises ArrowInvalid for text that is no moment."""
    moments = pc.cast(texts, pa.timestamp("us", "UTC"))
    simple = pc.and_(pc.greater_equal(moments, _SINCE), pc.less(moments, _UNTIL))
    if not pc.all(simple, min_count=0).as_py():
        return None
    return pc.add(pc.cast(moments, pa.timestamp("us")), _OFFSET)


def verbatim(sent: Mapping[str, Any]) -> Any:
    """The column `_extra` of rows, with the values of these fields as they were sent."""
    members = []
    for name, texts in sent.items():
        start = f',{msgspec.json.encode(name).decode()}:"'
        member: Any = pc.binary_join_element_wise(start, texts, '"', "")
        members.append(pc.fill_null(member, ""))
    joined: Any = pc.binary_join_element_wise(*members, "", "")
    objects: Any = pc.binary_join_element_wise("{", pc.utf8_slice_codeunits(joined, 1), "}", "")
    return pc.if_else(pc.equal(joined, pa.scalar("")), pa.scalar(None, pa.string()), objects)
