"""After any sequence of readings, slice, tally and change log are what a plain dict of rows would have."""

import tempfile
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from campus.account import BadRow
from tests.kits.lake.small_lake import MARKS, SLICE, START, NewLake, at, held, row, sync
from tests.kits.truth.change_log_truth import known_on
from warehouse.load.slice_reading import RetainedRows

Key = tuple[int, str]
Rows = dict[Key, dict[str, Any]]

CONTENT = ("class_id", "score", "tags", "updated_at", "_extra")
times = st.sampled_from([None, START - timedelta(days=9), START - timedelta(days=4)])
rows = st.builds(
    row,
    id=st.integers(1, 4),
    kind=st.sampled_from(["raw", "item"]),
    class_id=st.sampled_from([7, 9, None]),
    score=st.sampled_from([None, Decimal(0), Decimal("85.5")]),
    tags=st.sampled_from([None, [], [{"name": "优"}], [{"name": None}]]),
    updated_at=times,
    _extra=st.sampled_from([None, '{"score": ""}']),
    _trashed=st.booleans(),
    _trashed_at=times,
)
keys = st.tuples(st.integers(1, 4), st.sampled_from(["raw", "item"]))
readings = st.fixed_dictionaries(
    {
        "rows": st.lists(rows, max_size=9),
        "bad": st.lists(st.one_of(keys, st.none()), max_size=2),
        "kept": st.sampled_from([None, (7,), (9, 7)]),
        "complete": st.booleans(),
        "times": st.integers(1, 3),
    }
)


def merged(before: Rows, reading: dict[str, Any], now: datetime) -> tuple[Rows, Counter[str]]:
    """The rules of warehouse.load.merge once more, row by row."""
    best: Rows = {}
    for sent in reading["rows"]:
        key = (sent["id"], sent["kind"])
        rank = (not sent["_trashed"], sent["updated_at"] or datetime.min)
        if key not in best or rank >= (not best[key]["_trashed"], best[key]["updated_at"] or datetime.min):
            best[key] = sent
    changes = Counter(duplicates=len(reading["rows"]) - len(best))
    after: Rows = {}
    for key in before.keys() | best.keys():
        old, new = before.get(key), best.get(key)
        if new is None:
            assert old is not None
            spared = (
                key in reading["bad"] or None in reading["bad"] or old["class_id"] in (reading["kept"] or ())
            )
            if old["_deleted_at"] is not None:
                change, after[key] = "untouched", old
            elif reading["complete"] and not spared:
                change, after[key] = "vanished", old | {"_deleted_at": now, "_synced_at": now}
            else:
                change, after[key] = "carried", old
        else:
            content = {name: new[name] for name in CONTENT}
            dead_since = old["_deleted_at"] if old else None
            deleted_at = (new["_trashed_at"] or dead_since or now) if new["_trashed"] else None
            if old is None:
                change = "new"
            elif dead_since is None and new["_trashed"]:
                change = "deleted"
            elif dead_since is not None and not new["_trashed"]:
                change = "returned"
            else:
                same = content == {name: old[name] for name in CONTENT} and deleted_at == dead_since
                change = "unchanged" if same else "changed"
            synced_at = old["_synced_at"] if old and change == "unchanged" else now
            after[key] = content | {"_deleted_at": deleted_at, "_synced_at": synced_at}
        changes[change] += 1
    return after, changes


@settings(max_examples=15, deadline=None)
@given(sequence=st.lists(readings, min_size=1, max_size=4))
def test_slice_follows_the_model(new_lake: NewLake, sequence: list[dict[str, Any]]) -> None:
    names = ("id", "kind", *CONTENT, "_deleted_at", "_synced_at")
    with tempfile.TemporaryDirectory() as folder:
        lake = new_lake(f"{folder}/lake")
        model: Rows = {}
        history: list[dict[Key, Any]] = []
        nights = [reading for reading in sequence for _ in range(reading["times"])]
        for number, reading in enumerate(nights):
            model, changes = merged(model, reading, at(number))
            outcome = sync(
                lake,
                number,
                reading["rows"],
                bad=[BadRow(key, "made up", "{}") for key in reading["bad"]],
                retained=(RetainedRows("class_id", reading["kept"]),) if reading["kept"] else (),
                complete=reading["complete"],
            )
            actual = {
                change: getattr(outcome.counts, change) for change in (*changes, "new", "vanished", "carried")
            }
            if number and reading is nights[number - 1]:
                # What repeats is not compared, so that nobody counts the tombstones which it lacks.
                actual.pop("untouched", None)
            assert actual == {change: changes[change] for change in actual}
            expected = [
                (*key, *(row[name] for name in (*CONTENT, "_deleted_at", "_synced_at")))
                for key, row in model.items()
            ]
            assert held(lake, names, alive=False) == sorted(expected, key=repr)
            alive = [row for row in model.values() if row["_deleted_at"] is None]
            assert outcome.counts.are_alive == len(alive)
            history.append({key: row["score"] for key, row in model.items() if row["_deleted_at"] is None})
        for number, scores in enumerate(history):
            answers = known_on(lake, MARKS, SLICE, "score", at(number), Path(folder)).to_pylist()
            known_scores = {answer["key"]: answer["value"] and Decimal(answer["value"]) for answer in answers}
            assert known_scores == {f'[{id},"{kind}"]': score for (id, kind), score in scores.items()}
