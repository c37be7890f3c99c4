"""When changes alone may be asked for, and what they are worth: every case that the platform can make."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from campus.account import Account
from loading.slices.load_slice import check_changes
from warehouse.load.logs.load_log import SliceStatus
from warehouse.load.watermark import Incremental, LiveRows, MergePreview, watermark

MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31))
OVERLAPS = st.timedeltas(timedelta(0), timedelta(hours=3))
DAYS = st.integers(1, 14)


@given(MOMENTS, MOMENTS, MOMENTS, OVERLAPS, DAYS, st.none() | st.floats(-90_000, 90_000))
def test_a_watermark_is_never_past_what_is_known(
    latest: datetime, complete_at: datetime, now: datetime, overlap: timedelta, days: int, ahead: float | None
) -> None:
    standing, state = SliceStatus(complete_at, False, complete_at), LiveRows(3, latest, 0)
    settings = Incremental(overlap, days)
    since = watermark(standing, state, settings, now, ahead)
    if (now.date() - complete_at.date()).days >= days:
        assert since is None
        return
    assert since is not None
    # The latest row always comes again, so that a filter which is not heeded as we mean it shows.
    assert since < latest
    # By either clock, nothing that changed while the last load ran is skipped.
    assert since < complete_at and since < complete_at + timedelta(seconds=ahead or 0)
    if complete_at - latest < timedelta(hours=12):
        assert since <= latest - overlap or since <= complete_at - overlap


@given(MOMENTS, st.sampled_from(["never", "whole", "quarantined", "empty", "undated"]))
def test_what_is_not_known_for_sure_is_read_in_full(now: datetime, lacking: str) -> None:
    standing, state = SliceStatus(now, False, now), LiveRows(3, now, 0)
    assert watermark(standing, state, Incremental(), now) is not None
    poorer = {
        "never": (SliceStatus(), state),
        "whole": (replace(standing, whole_at=None), state),
        "quarantined": (replace(standing, quarantined=True), state),
        "empty": (standing, LiveRows()),
        "undated": (standing, replace(state, undated=1)),
    }
    assert watermark(*poorer[lacking], Incremental(), now) is None


COUNTS = st.integers(0, 5)


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, st.booleans())
def test_changes_prove_something_only_where_all_agrees(
    news: int, lost: int, alive: int, shown: int, total: int, older: int, numbered: bool
) -> None:
    verdict = check_changes(
        Account(older=older), MergePreview(news, lost, alive, shown), total, numbered=numbered
    )
    if verdict is None:
        assert lost or alive != total or older or (numbered and news)
    elif verdict.incremental:
        assert (lost, alive, older) == (0, total, 0)
        assert verdict.has_changes == (news > 0) and not (numbered and news)
    else:
        # The platform sent all there is: that is a reading in full, and is compared as one.
        assert older and shown == total and verdict.has_changes and not numbered
