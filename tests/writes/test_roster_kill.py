"""A roster that is applied by the very command, killed in the midst, and applied again."""

import csv
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars
import pytest
from click.testing import CliRunner
from rosters import SCHOOL, Town, pupil

from pipelines.cli.main import main
from simulator.process import RunningSimulator, running
from warehouse.lake.log_tables import WRITES

CAMPUS = Path(sys.executable).with_name("campus")
MANY = 150
#: So many are made when the command is killed.
MADE = 40
PATH = "/api/v1/reflections"
#: After these the platform makes people still and is long in saying so: requests are under way at the kill.
SLOW = (
    {"kind": "slow", "seconds": 0.01, "method": "POST", "path": PATH, "times": MADE},
    {"kind": "slow", "seconds": 20.0, "method": "POST", "path": PATH},
)
PASSWORD, ID_NUMBER = "Zx9-secret-{}", "1101051949123100{:02}"
CONFIG = "writes:\n  settling: 0.05\n  roster:\n    columns: {初始密码: password}\n"


class Place:
    """A home, and its commands."""

    def __init__(self, folder: Path, platform: RunningSimulator) -> None:
        self.home, self.roster = folder / "home", folder / "roster.csv"
        self.home.mkdir()
        (self.home / "campus.yaml").write_text(CONFIG, encoding="utf-8")
        self.said = ""
        self._environment = {
            "PATH": os.environ["PATH"],
            "CAMPUS_HOME": str(self.home),
            "CAMPUS_BASE_URL": platform.base_url,
            "CAMPUS_CLIENT_ID": platform.client_id,
            "CAMPUS_CLIENT_SECRET": platform.client_secret,
            "CAMPUS_ALLOW_WRITES": "true",
        }

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [CAMPUS, "roster", *words],
            env=self._environment,
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str) -> tuple[int, str]:
        """The exit status of a command in this process, and what it said."""
        done = CliRunner().invoke(main, ["roster", *words], env=self._environment)
        self.said += done.output
        return done.exit_code, done.output

    def killed(self, platform: RunningSimulator, *words: str) -> None:
        """Run a command, and kill it once the platform has made some people."""
        with self.start(*words) as process:
            ends = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < ends and posts(platform) < MADE:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            self.said += process.communicate()[0]
        assert process.returncode == -signal.SIGKILL

    @property
    def plan(self) -> str:
        [path] = (self.home / "plans").glob("*.json")
        return str(path)


def posts(platform: RunningSimulator) -> int:
    return sum(entry["method"] == "POST" and entry["path"] == PATH for entry in platform.log())


def write_roster(path: Path) -> None:
    """A roster in the words of a school, with passwords and id numbers."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        out = csv.writer(file)
        out.writerow(["外部编号", "学号", "姓名", "角色", "毕业届", "初始密码", "身份证号"])
        for number in range(MANY):
            row = pupil(number)
            standard = [row[name] for name in ("outer_id", "usin", "name", "role", "graduates_in")]
            out.writerow([*standard, PASSWORD.format(number), ID_NUMBER.format(number % 100)])


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Town, Place]]:
    """A platform, and a home in which a roster was planned, and its application killed in the midst."""
    with running(schools=1, students=12) as platform:
        place = Place(tmp_path_factory.mktemp("roster"), platform)
        write_roster(place.roster)
        status, said = place.run("plan", str(place.roster), "--school", str(SCHOOL), "--personal")
        assert status == 0, said
        platform.set_faults(*SLOW)
        platform.clear_log()
        place.killed(platform, "apply", place.plan, "--no-build")
        platform.set_faults()
        yield Town(platform, place.home), place


def test_everybody_is_there_exactly_once_after_a_kill(town: tuple[Town, Place]) -> None:
    there, place = town
    roster = [pupil(number) for number in range(MANY)]
    outer_ids = [row["outer_id"] for row in roster]
    made = Counter(person["outer_id"] for person in there.true_people())
    assert MADE <= sum(made[one] for one in outer_ids) < MANY
    status, said = place.run("apply", place.plan, "--no-build")
    assert status == 0, said
    assert "unchanged" in said
    again = Counter(person["outer_id"] for person in there.true_people())
    assert {again[one] for one in outer_ids} == {1}
    outcomes = Counter(row["outcome"] for row in there.lake.read(WRITES).to_pylist())
    # What was under way is nobody's knowledge but the platform's, and the record says so.
    assert outcomes.keys() == {"done", "interrupted"}
    assert 1 <= outcomes["interrupted"] <= 16
    assert MANY <= outcomes.total() <= MANY + 16
    assert there.plan(roster).unchanged == MANY


def test_neither_passwords_nor_id_numbers_stand_anywhere_below_the_home(town: tuple[Town, Place]) -> None:
    there, place = town
    # The platform has got them.
    assert there.true("new-7")[0]["idcard"] == ID_NUMBER.format(7)
    secrets = [PASSWORD.format(""), ID_NUMBER.format(0)[:-2]]
    assert not [secret for secret in secrets if secret in place.said]
    looked_at = Counter[str]()
    for path in place.home.rglob("*"):
        if path.is_file():
            looked_at[path.suffix] += 1
            for content in contents(path):
                found = [secret for secret in secrets if secret.encode() in content]
                assert not found, f"{path} has {found}"
    assert {".json", ".xlsx", ".parquet", ".sqlite", ".csv"} <= looked_at.keys()


def contents(path: Path) -> Iterator[bytes]:
    """What is in a file, also where it is packed."""
    yield path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as book:
            yield from (book.read(name) for name in book.namelist())
    if path.suffix == ".parquet":
        yield polars.read_parquet(path).write_ndjson().encode()
