"""Secret keys of a home."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from warehouse.keys import KEY_BYTES, home_key


def test_a_key_stays_the_same_for_its_owner_alone(tmp_path: Path) -> None:
    key = home_key(tmp_path, "plans")
    assert len(key) == KEY_BYTES
    assert home_key(tmp_path, "plans") == key
    assert home_key(tmp_path, "pseudonyms") != key
    assert (tmp_path / "keys" / "plans").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_processes_that_start_together_share_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: home_key(tmp_path, "plans"), range(32)))
    assert len(keys) == 1
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["plans"]


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    home_key(tmp_path, "plans")
    (tmp_path / "keys" / "plans").chmod(0o640)
    with pytest.raises(PermissionError, match="mode 600"):
        home_key(tmp_path, "plans")


def test_a_link_in_the_place_of_a_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"x" * KEY_BYTES)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "plans").symlink_to(tmp_path / "other")
    with pytest.raises(OSError):
        home_key(tmp_path, "plans")


def test_a_key_of_another_length_is_refused(tmp_path: Path) -> None:
    home_key(tmp_path, "plans")
    (tmp_path / "keys" / "plans").write_bytes(b"short")
    with pytest.raises(PermissionError, match="not a key"):
        home_key(tmp_path, "plans")
