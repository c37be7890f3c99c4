"""A roster that is applied by the very command, killed in the midst, and applied again."""

import csv
import signal
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars
import pytest
from click.testing import CliRunner

from pipelines.cli.main import main
from pipelines.cli.terminal.display import INTERRUPTED
from pipelines.lake.opening import lake_of
from pipelines.resources import runtime_without_platform
from pipelines.settings.settings import Settings
from pipelines.status.report import status_of
from simulator.process import RunningSimulator, running
from tests.kits.programs.processes import environment_for, started
from tests.kits.writes.rosters import SCHOOL, Town, pupil
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import WRITES
from writeback.outcomes import in_words

MANY = 150
#: So many are made when the command is killed.
MADE = 40
PATH = "/api/v1/reflections"
#: After these the platform makes people still and is long in saying so: requests are under way at the kill.
SLOW = (
    {"kind": "slow", "seconds": 0.01, "method": "POST", "path": PATH, "times": MADE},
    {"kind": "slow", "seconds": 20.0, "method": "POST", "path": PATH},
)
NEEDS_HANGUP = pytest.mark.skipif(
    signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, reason="SIGHUP is ignored here, as below nohup"
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
        self._environment = environment_for(self.home, platform, CAMPUS_ALLOW_WRITES="true")

    def run(self, *words: str) -> tuple[int, str]:
        """The exit status of a command in this process, and what it said."""
        done = CliRunner().invoke(main, ["roster", *words], env=self._environment)
        self.said += done.output
        return done.exit_code, done.output

    def killed(self, platform: RunningSimulator, *words: str) -> None:
        """Run a command, and kill it once the platform has made some people."""
        assert self.ended_by(signal.SIGKILL, platform, *words)[0] == -signal.SIGKILL

    def ended_by(self, number: int, platform: RunningSimulator, *words: str) -> tuple[int, str]:
        """Run a command, and send it a signal once the platform has made some people. Its exit status, and
        what it said."""
        platform.set_faults(*SLOW)
        platform.clear_log()
        with started(["campus", "roster", *words], self._environment, self.home) as program:
            ends = time.monotonic() + 60
            while program.poll(0.02) is None and time.monotonic() < ends and posts(platform) < MADE:
                pass
            program.send_signal(number)
            said, status = program.stdout.read(), program.wait()
        platform.set_faults()
        self.said += said
        return status, said

    @property
    def plan(self) -> str:
        [path] = (self.home / "plans").glob("roster-*.json")
        return str(path)


def posts(platform: RunningSimulator) -> int:
    return sum(entry["method"] == "POST" and entry["path"] == PATH for entry in platform.log())


def write_roster(path: Path, first: int = 0) -> None:
    """A roster in the words of a school, with passwords and id numbers. first: the number of its first
    pupil."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        out = csv.writer(file)
        out.writerow(["外部编号", "学号", "姓名", "角色", "毕业届", "初始密码", "身份证号"])
        for number in range(first, first + MANY):
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
        place.killed(platform, "apply", place.plan, "--no-build")
        yield Town(platform, place.home), place


def planned(there: Town, folder: Path, first: int) -> tuple[Place, Settings]:
    """Another home, in which a roster was planned."""
    place = Place(folder, there.platform)
    write_roster(place.roster, first)
    status, said = place.run("plan", str(place.roster), "--school", str(SCHOOL))
    assert status == 0, said
    return place, Settings(home=place.home)


def to_do(settings: Settings) -> list[str]:
    return [line for line in status_of(settings).to_do if "roster" in line]


@pytest.mark.parametrize(
    ("number", "first"),
    [
        (signal.SIGINT, 1000),
        pytest.param(signal.SIGTERM, 2000, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 3000, marks=[pytest.mark.slow, NEEDS_HANGUP]),
    ],
)
def test_an_interrupted_plan_says_how_far_it_came(
    town: tuple[Town, Place], tmp_path: Path, number: int, first: int
) -> None:
    """On the terminal, in the result file, in the record, and in `campus status`."""
    there, _ = town
    place, settings = planned(there, tmp_path, first)
    status, said = place.ended_by(number, there.platform, "apply", place.plan, "--no-build")
    assert status == INTERRUPTED, said
    assert "Interrupted: run the same command again" in said
    name = Path(place.plan).stem
    assert f"To go on: campus roster apply {name}" in said
    with Path(place.plan).with_suffix(".result.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    outcomes = Counter(row["outcome"] for row in rows)
    assert outcomes.total() == MANY
    assert outcomes["written"] and outcomes["waiting"] and 1 <= outcomes["unconfirmed"] <= 16
    open_rows = f"{outcomes['waiting']} waiting, {outcomes['unconfirmed']} unconfirmed"
    assert f"{in_words(outcomes)}." in said
    assert to_do(settings) == [
        f"Writing the roster roster.csv of school {SCHOOL} did not finish ({open_rows}): "
        f"campus roster apply {name}"
    ]
    filed = Counter(row["outcome"] for row in Lake(f"{place.home}/lake").read(WRITES).to_pylist())
    assert filed["done"] == outcomes["written"] and filed["interrupted"] >= 1


def test_a_kill_is_told_and_filed_by_the_next_build(town: tuple[Town, Place], tmp_path: Path) -> None:
    there, _ = town
    place, settings = planned(there, tmp_path, 4000)
    place.killed(there.platform, "apply", place.plan, "--no-build")
    [line] = to_do(settings)
    name = Path(place.plan).stem
    assert line.endswith(f"campus roster apply {name}") and "is not known" in line
    lake = lake_of(settings)
    assert lake.read(WRITES).num_rows == 0
    runtime_without_platform(settings)
    filed = Counter(row["outcome"] for row in lake.read(WRITES).to_pylist())
    # The last ones may have been answered after the kill.
    assert filed["done"] >= 1 and filed["interrupted"] >= 1
    status, said = place.run("apply", place.plan, "--no-build")
    assert status == 0, said
    assert to_do(settings) == []


def test_everybody_is_there_exactly_once_after_a_kill(town: tuple[Town, Place]) -> None:
    there, place = town
    roster = [pupil(number) for number in range(MANY)]
    outer_ids = [row["outer_id"] for row in roster]
    made = Counter(person["outer_id"] for person in there.true_people())
    assert MADE <= sum(made[outer_id] for outer_id in outer_ids) < MANY
    status, said = place.run("apply", place.plan, "--no-build")
    assert status == 0, said
    assert "unchanged" in said
    again = Counter(person["outer_id"] for person in there.true_people())
    assert {again[outer_id] for outer_id in outer_ids} == {1}
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
                leaked = [secret for secret in secrets if secret.encode() in content]
                assert not leaked, f"{path} has {leaked}"
    assert {".json", ".xlsx", ".parquet", ".sqlite", ".csv"} <= looked_at.keys()


def contents(path: Path) -> Iterator[bytes]:
    """What is in a file, also where it is packed."""
    yield path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as book:
            yield from (book.read(name) for name in book.namelist())
    if path.suffix == ".parquet":
        yield polars.read_parquet(path).write_ndjson().encode()
