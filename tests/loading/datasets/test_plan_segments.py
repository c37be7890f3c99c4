"""The plan of segments: several at a time, halts of one school, and segments that are loaded again."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from campus.http.errors import PlatformUnavailable
from campus.registry import RESOURCES
from loading.datasets import load_segments
from loading.datasets.load_segments import plan_segments
from loading.slices.commit import Loaded, RunResults
from warehouse.lake.tables import Slice

HALT = PlatformUnavailable("the school cannot be read", school_id=101)


class FakeJob:
    """A segment of a dataset, which is its school's only one."""

    def __init__(self, dataset: Any, segment: int) -> None:
        self.dataset, self.segment = dataset, segment

    def loaded(self, message: str) -> Loaded:
        slice_ = Slice.of(_school_id=self.dataset.plan.school_id, _segment=self.segment)
        return Loaded(RESOURCES["terms"], slice_, "ok", message)


class FakeDataset:
    def __init__(self, school_id: int) -> None:
        self.plan = SimpleNamespace(school_id=school_id)
        self.spec = SimpleNamespace(resource=SimpleNamespace(name="datasets.scores"))


@pytest.fixture
def loader() -> Any:
    confirmation = SimpleNamespace(contradicted=0)
    return SimpleNamespace(
        run=RunResults(),
        report_progress=lambda *_: None,
        runtime=SimpleNamespace(datasets=SimpleNamespace(segments_at_a_time=2)),
        client=SimpleNamespace(capabilities=SimpleNamespace(confirmation=confirmation)),
    )


def plan_of(monkeypatch: pytest.MonkeyPatch, loader: Any, jobs: list[FakeJob]) -> Any:
    monkeypatch.setattr(load_segments, "_jobs", lambda *_: iter(jobs))
    return plan_segments(cast(Any, loader), {})


def end(plan: Any, loader: Any, job: FakeJob, message: str) -> list[FakeJob]:
    """End a job as the loader does. Returns the jobs that start then."""
    loaded = job.loaded(message)
    loader.run.loaded.append(loaded)
    try:
        jobs: list[FakeJob] = plan.send((job, [loaded]))
    except StopIteration:
        return []
    return jobs


def test_segments_before_a_contradiction_are_loaded_again(
    monkeypatch: pytest.MonkeyPatch, loader: Any
) -> None:
    dataset = FakeDataset(101)
    a, b, c = jobs = [FakeJob(dataset, segment) for segment in range(3)]
    plan = plan_of(monkeypatch, loader, jobs)
    assert next(plan) == [a, b]
    loader.client.capabilities.confirmation.contradicted = 1
    # It begins after the contradiction, so its empty responses are confirmed.
    assert end(plan, loader, a, "first") == [c]
    assert end(plan, loader, b, "first") == []
    assert end(plan, loader, c, "first") == [a, b]
    assert end(plan, loader, b, "second") == []
    assert end(plan, loader, a, "second") == []
    outcomes = {loaded.slice: loaded.message for loaded in loader.run.loaded}
    assert [*outcomes.values()] == ["second", "second", "first"]
    assert len(loader.run.loaded) == 3


def test_halt_of_a_school_leaves_the_segments_of_others(monkeypatch: pytest.MonkeyPatch, loader: Any) -> None:
    a, b, c = (FakeJob(FakeDataset(school_id), 0) for school_id in (101, 101, 102))
    loader.runtime.datasets.segments_at_a_time = 1
    plan = plan_of(monkeypatch, loader, [a, b, c])
    assert next(plan) == [a]
    loader.run.halts.append(HALT)
    assert plan.send((a, HALT)) == [c]
    assert end(plan, loader, c, "first") == []
    assert [loaded.slice.school_id for loaded in loader.run.loaded] == [102]
