"""Which school is in which shard, and which file its rows are read of."""

from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from warehouse.published.manifest import (
    Manifest,
    ShardFile,
    assigned,
    decoded,
    encoded,
    following,
    schools_to_read,
    with_file,
    with_problem,
)

SCHOOLS = st.frozensets(st.integers(1, 60), max_size=25)
SIZES = st.integers(1, 5)


def shards_of(manifest: Manifest) -> dict[int, str]:
    """By school its shard."""
    return {school: shard.name for shard in manifest.shards for school in shard.schools}


def built(manifest: Manifest, name: str, generation: int) -> Manifest:
    """The manifest once a shard is built of its schools."""
    file = ShardFile(f"{generation:06}", f"shards/{name}/{generation}", manifest.shard(name).schools, "m", 1)
    return with_file(manifest, name, file)


@given(SIZES, st.lists(SCHOOLS, min_size=1, max_size=6))
def test_a_school_stays_where_it_is_and_no_shard_has_too_many(
    size: int, nights: list[frozenset[int]]
) -> None:
    manifest = Manifest()
    for schools in nights:
        before, manifest = shards_of(manifest), assigned(manifest, schools, size)
        now = shards_of(manifest)
        assert now.keys() == schools
        assert {school: now[school] for school in before.keys() & schools} == {
            school: before[school] for school in before.keys() & schools
        }
        assert all(len(shard.schools) <= size for shard in manifest.shards)
        assert len({shard.name for shard in manifest.shards}) == len(manifest.shards)
        assert assigned(manifest, schools, size) == manifest


@given(st.lists(st.tuples(SCHOOLS, SIZES), min_size=1, max_size=5), st.data())
def test_whatever_is_built_when_each_school_is_read_once_and_none_is_lost(
    nights: list[tuple[frozenset[int], int]], data: st.DataObject
) -> None:
    manifest, known_schools, generation = Manifest(), frozenset[int](), 0
    for schools, size in nights:
        manifest = assigned(manifest, schools | known_schools, size)
        for shard in manifest.shards:
            if shard.schools and data.draw(st.booleans()):
                generation += 1
                manifest = built(manifest, shard.name, generation)
                known_schools |= set(shard.schools)
        read = [school for mine in schools_to_read(manifest).values() for school in mine]
        assert sorted(read) == sorted(known_schools)


def test_another_number_of_schools_per_shard_is_read_as_it_comes() -> None:
    first = built(assigned(Manifest(), {1, 2, 3, 4}, 4), "0001", 1)
    halved = assigned(first, {1, 2, 3, 4}, 2)
    assert [(shard.name, shard.schools) for shard in halved.shards] == [
        ("0001", ()),
        ("0002", (1, 2)),
        ("0003", (3, 4)),
    ]
    assert schools_to_read(halved) == {"0001": {1, 2, 3, 4}}
    half_built = built(halved, "0003", 2)
    assert schools_to_read(half_built) == {"0001": {1, 2}, "0003": {3, 4}}
    assert schools_to_read(built(half_built, "0002", 3)) == {"0002": {1, 2}, "0003": {3, 4}}


def test_a_place_that_a_school_leaves_stays_empty() -> None:
    first = assigned(Manifest(), {1, 2, 3}, 2)
    assert shards_of(assigned(first, {2, 3, 4, 5}, 2)) == {2: "0001", 3: "0002", 4: "0002", 5: "0003"}


@given(st.integers(1, 4), st.integers(0, 6))
def test_the_files_of_the_last_manifests_are_kept(keep: int, changes: int) -> None:
    manifest = assigned(Manifest(), {1}, 1)
    at = datetime(2026, 3, 2, tzinfo=UTC).replace(tzinfo=None)
    for number in range(changes):
        manifest = following(built(manifest, "0001", number), manifest, at, keep)
        # What changes no file is no generation to go back to.
        manifest = following(with_problem(manifest, "0001", f"{number}"), manifest, at, keep)
    assert manifest.kept_files == {f"shards/0001/{n}" for n in range(changes)[-keep:]}
    assert decoded(encoded(manifest)) == manifest


def test_each_manifest_has_a_later_name() -> None:
    at, names, manifest = datetime(2026, 3, 2), [], Manifest()
    for problem in "abc":
        manifest = following(msgspec.structs.replace(manifest, shards=()), manifest, at, 1)
        names.append((manifest.generation, problem))
    assert names == sorted(names) and len({name for name, _ in names}) == 3
