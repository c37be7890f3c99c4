"""Nobody but the owner and the group can read what is written, whatever umask the caller has."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_home import give_compiled

from pipelines.cli.doctor.files import examine_files
from pipelines.settings import Settings
from simulator.process import running
from warehouse.publish.dbt_project import Build

CAMPUS = Path(sys.executable).parent / "campus"


def open_to_others(folder: Path) -> dict[str, str]:
    """What below a folder others can do anything with, or the group can write: path and mode."""
    paths = [path for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
    return {
        str(path): oct(stat.S_IMODE(path.stat().st_mode)) for path in paths if path.stat().st_mode & 0o027
    }


def test_a_night_without_a_umask_leaves_nothing_to_others(tmp_path: Path, compiled_models: Build) -> None:
    home = tmp_path / "home"
    give_compiled(home, compiled_models)
    home.chmod(0o750)
    for path in home.rglob("*"):
        path.chmod(0o750 if path.is_dir() else 0o640)
    with running(schools=1, students=12, semesters=1, core_subjects=4) as platform:
        environment = {
            "PATH": os.environ["PATH"],
            "CAMPUS_HOME": str(home),
            "CAMPUS_BASE_URL": platform.base_url,
            "CAMPUS_CLIENT_ID": platform.client_id,
            "CAMPUS_CLIENT_SECRET": platform.client_secret,
        }

        def campus(*words: str) -> None:
            subprocess.run(
                [CAMPUS, *words], env=environment, cwd=tmp_path, umask=0, check=True, capture_output=True
            )

        campus("sync")
        campus("export", "--all", "--to", str(tmp_path / "for people"))
        campus("backup", str(tmp_path / "backups"))
    assert (home / "campus.duckdb").exists() and len(list(home.rglob("*"))) > 200
    assert open_to_others(home) == {}
    assert open_to_others(tmp_path / "for people") == {}
    assert open_to_others(tmp_path / "backups") == {}


def test_a_stricter_umask_stays(tmp_path: Path) -> None:
    look = "import os, pipelines; print(oct(os.umask(0)))"
    done = subprocess.run(
        [sys.executable, "-c", look], umask=0o077, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0o77"]


@pytest.mark.parametrize("what", ["home", "exports", ".env"])
def test_the_doctor_says_what_others_can_read(tmp_path: Path, what: str) -> None:
    home = tmp_path / "home"
    (home / "exports").mkdir(parents=True)
    (home / ".env").touch()
    for path in (home, home / "exports"):
        path.chmod(0o750)
    (home / ".env").chmod(0o600)
    settings = Settings(home=home, read_from=(home / ".env",))
    [well] = examine_files(settings)
    assert well.good
    path = home if what == "home" else home / what
    path.chmod(path.stat().st_mode | 0o004)
    [finding] = examine_files(settings)
    assert finding.good is False and f"chmod o-rwx {path}" in finding.text


def test_the_doctor_says_where_everybody_can_replace_the_home(tmp_path: Path) -> None:
    home = tmp_path / "open" / "home"
    home.mkdir(parents=True)
    home.chmod(0o750)
    home.parent.chmod(0o777)
    [finding] = examine_files(Settings(home=home))
    assert finding.good is False and f"chmod o-w {home.parent}" in finding.text
    home.parent.chmod(0o1777)
    assert next(iter(examine_files(Settings(home=home)))).good
