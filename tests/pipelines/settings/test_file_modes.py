"""Nobody but the owner and the group can read what is written, whatever umask the caller has."""

import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.cli.doctor.home import examine_files
from pipelines.settings.settings import Settings
from simulator.process import running
from tests.kits.programs.processes import environment_for, run
from warehouse.files import is_open, make_read_only

DAGSTER = Path(sys.executable).with_name("dagster")


def open_to_others(folder: Path) -> dict[str, str]:
    """What below a folder others can do anything with, or the group can write: path and mode."""
    paths = [path for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
    return {
        str(path): oct(stat.S_IMODE(path.stat().st_mode)) for path in paths if path.stat().st_mode & 0o027
    }


def test_a_night_without_a_umask_leaves_nothing_to_others(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o750)
    with running(schools=1, students=12, semesters=1, core_subjects=4) as platform:
        for words in (
            ("sync",),
            ("export", "--all", "--to", str(tmp_path / "for people")),
            ("backup", "--first", str(tmp_path / "backups")),
        ):
            done = run(["campus", *words], environment_for(home, platform), tmp_path, umask=0)
            assert done.returncode == 0, done.stderr
    assert (home / "campus.duckdb").exists() and len(list(home.rglob("*"))) > 200
    assert open_to_others(home) == {}
    assert open_to_others(tmp_path / "for people") == {}
    assert open_to_others(tmp_path / "backups") == {}


@pytest.mark.parametrize(("umask", "home_mode"), [(0o000, 0o750), (0o022, 0o750), (0o077, 0o700)])
def test_new_home_has_no_wider_mode(umask: int, home_mode: int, tmp_path: Path) -> None:
    """A home that campus makes has mode 750; a stricter umask of the caller is kept."""
    home = tmp_path / "home"
    make = (
        "import sys; from pipelines.settings import settings as s; s.claim_home(s.Settings(home=sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", make, str(home)], umask=umask, check=True)
    made = [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "loaded_from")]
    assert made == [home_mode, home_mode & 0o666]


@pytest.mark.parametrize(("mode", "read_only"), [(0o640, 0o440), (0o600, 0o400), (0o666, 0o440)])
def test_published_file_has_no_wider_mode(mode: int, read_only: int, tmp_path: Path) -> None:
    """A file that a stricter umask closed to the group stays closed."""
    file = tmp_path / "campus.duckdb"
    file.touch()
    file.chmod(mode)
    make_read_only(file)
    assert stat.S_IMODE(file.stat().st_mode) == read_only


@pytest.mark.slow
def test_runs_of_dagster_leave_nothing_to_others(tmp_path: Path) -> None:
    """Dagster's own programs have the umask, too."""
    home = tmp_path / "home"
    with running(schools=1, students=12, semesters=1) as platform:
        environment = environment_for(home, platform, DAGSTER_HOME=str(home / "dagster"))
        # As any command of campus does, which is what people run first: it makes Dagster's databases.
        opens = (
            "from pipelines.runs import instance\nfrom pipelines.settings import settings\n"
            "with instance.open_instance(settings.load_settings()): pass"
        )
        for command in (
            [sys.executable, "-c", opens],
            [DAGSTER, "job", "execute", "-m", "pipelines.definitions", "-j", "discovery"],
        ):
            subprocess.run(command, env=environment, cwd=tmp_path, umask=0, check=True, capture_output=True)
    assert (home / "lake").exists() and open_to_others(home) == {}


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
    finding, *_ = examine_files(settings)
    assert (
        finding.good is False and str(path) in finding.text and f"chmod -R g-w,o-rwx {home}" in finding.text
    )


@pytest.mark.parametrize("mode", [0o644, 0o641, 0o660])
def test_doctor_names_single_open_file(mode: int, tmp_path: Path) -> None:
    """A file deep inside the home, or in a lake elsewhere, and the command that mends all of them."""
    home, lake = tmp_path / "a home", tmp_path / "lake"
    for folder in (home / "generations", lake / "students" / "_delta_log"):
        folder.mkdir(parents=True)
    files = [home / "generations" / "1.duckdb", lake / "students" / "_delta_log" / "0.json"]
    for path in (home, lake, *home.rglob("*"), *lake.rglob("*")):
        path.chmod(0o750)
    (home / "elsewhere").symlink_to(tmp_path)
    settings = Settings(home=home, lake=str(lake))
    for file in files:
        file.touch()
        file.chmod(0o640)
    assert [finding.good for finding in examine_files(settings)] == [True]
    for file, root in zip(files, (home, lake), strict=True):
        file.chmod(mode)
        [finding] = examine_files(settings)
        assert finding.good is False and str(file) in finding.text
        command = finding.text[finding.text.index("chmod") :]
        subprocess.run(command.rstrip("."), shell=True, check=True)
        assert shlex.quote(str(root)) in command and not is_open(file)
        assert [finding.good for finding in examine_files(settings)] == [True]


def test_doctor_names_dotenv_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o750)
    file = tmp_path / ".env"
    file.write_text("CAMPUS_SCHOOL_IDS=101\n")
    file.chmod(0o644)
    [finding] = examine_files(Settings(home=tmp_path / "home", read_from=(file,)))
    assert (finding.good, finding.text) == (
        False,
        f"Others can read {file}, which is for secrets: chmod 600 {file}",
    )


def test_doctor_looks_at_every_parent(tmp_path: Path) -> None:
    home = tmp_path / "open" / "between" / "home"
    home.mkdir(parents=True)
    home.chmod(0o750)
    (tmp_path / "open").chmod(0o777)
    [finding] = examine_files(Settings(home=home))
    assert finding.good is False and f"chmod o-w {tmp_path / 'open'}" in finding.text


def test_the_doctor_says_where_everybody_can_replace_the_home(tmp_path: Path) -> None:
    home = tmp_path / "open" / "home"
    home.mkdir(parents=True)
    home.chmod(0o750)
    home.parent.chmod(0o777)
    [finding] = examine_files(Settings(home=home))
    assert finding.good is False and f"chmod o-w {home.parent}" in finding.text
    home.parent.chmod(0o1777)
    assert next(iter(examine_files(Settings(home=home)))).good
