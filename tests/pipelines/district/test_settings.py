"""dagster.yaml follows the settings of a district, at each start; what somebody has changed by hand stays."""

from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
import yaml
from dagster._core.instance.ref import InstanceRef
from pydantic import SecretStr

from assets.shared.dagster_private import show_on_timeline
from pipelines.district import programs
from pipelines.district.queues import BUILD, FOR_BUILDS, LOAD, PLATFORM_TAG, QUEUE_TAG
from pipelines.runs.instance import GENERATED_LINE, MOVED_MODULES, contradicting_sections, dagster_home
from pipelines.runs.launchers import NamedLaunches
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.options import DistrictOptions, Options
from pipelines.settings.settings import Settings, SettingsError, load_settings

SECRET = "do-not-tell"
POSTGRES = f"postgresql+psycopg2://campus:{SECRET}@127.0.0.1:1/campus"
BROKER = f"amqp://campus:{SECRET}@127.0.0.1:1/campus"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, and an environment that names nothing of a district."""
    for name in ("CAMPUS_BROKER_URL", "CAMPUS_RESULT_URL", POSTGRES_URL):
        # Set and taken away, so that what a start puts there goes with the test.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setenv("CAMPUS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(settings: Settings) -> dict[str, object]:
    """dagster.yaml as a start with these settings leaves it."""
    content = yaml.safe_load((dagster_home(settings) / "dagster.yaml").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def with_workers(home: Path, **district: int) -> Settings:
    return Settings(
        home=home,
        base_url="https://school.example/x",
        DAGSTER_POSTGRES_URL=SecretStr(POSTGRES),
        broker_url=SecretStr(BROKER),
        options=Options(district=DistrictOptions(**district)),
    )


def test_an_empty_address_of_postgres_keeps_runs_in_the_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_URL, "")
    assert "storage" not in written(Settings(home=home))


def test_what_comes_later_is_heeded_and_what_goes_is_gone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = written(Settings(home=home))
    assert "run_launcher" not in alone and "storage" not in alone and "run_retries" not in alone
    district = written(with_workers(home))
    assert district["storage"] == {"postgres": {"postgres_url": {"env": POSTGRES_URL}}}
    launcher = district["run_launcher"]
    assert isinstance(launcher, dict)
    assert (launcher["class"], launcher["config"]["broker"]) == (
        "WatchedCeleryLauncher",
        {"env": "CAMPUS_BROKER_URL"},
    )
    assert SECRET not in str(district)
    monkeypatch.delenv("CAMPUS_BROKER_URL")
    without_broker = written(Settings(home=home))
    assert "run_launcher" not in without_broker and "storage" in without_broker


def test_no_password_is_in_what_processes_are_given(home: Path) -> None:
    """Dagster gives its processes the instance as an argument, which `ps` shows."""
    dagster_home(with_workers(home))
    given = InstanceRef.from_dir(str(home / "dagster"))
    commands = [
        programs.daemon(),
        programs.webserver("127.0.0.1", 3000, allow_launch=False),
        programs.worker("one"),
    ]
    shown = f"{dg.serialize_value(given)} {commands}"
    assert POSTGRES_URL in shown and "CAMPUS_BROKER_URL" in shown and SECRET not in shown


def test_dotenv_is_enough(home: Path) -> None:
    (home / ".env").write_text(f"{POSTGRES_URL}={POSTGRES}\nCAMPUS_BROKER_URL={BROKER}\n")
    assert "run_launcher" in written(load_settings())


def test_dagster_takes_what_is_written(home: Path) -> None:
    settings = with_workers(home, loads_at_a_time=7, builds_at_a_time=2)
    dagster_home(settings)
    # Its storage would be asked at once, and is not there.
    file = home / "dagster" / "dagster.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    del content["storage"]
    file.write_text(yaml.safe_dump(content))
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        queue = instance.get_concurrency_config().run_queue_config
        assert queue is not None
        limits = {limit["key"]: limit["limit"] for limit in queue.tag_concurrency_limits}
        assert limits == {PLATFORM_TAG: 7, QUEUE_TAG: 2} and queue.max_concurrent_runs == -1
        launcher, coordinator = instance.run_launcher, instance.run_coordinator
        assert (
            type(launcher).__name__ == "WatchedCeleryLauncher" and launcher.supports_check_run_worker_health
        )
        assert isinstance(coordinator, NamedLaunches) and coordinator.platform == "school.example"
        assert instance.run_retries_enabled and not instance.run_retries_retry_on_asset_or_op_failure


def test_a_broker_without_postgres_is_a_mistake(home: Path) -> None:
    with pytest.raises(SettingsError, match=f"{POSTGRES_URL} is not: workers share their runs in one"):
        dagster_home(Settings(home=home, broker_url=SecretStr(BROKER)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("CAMPUS_BROKER_URL", "a RabbitMQ, amqp://"), ("CAMPUS_RESULT_URL", "a Redis, redis")],
)
def test_another_kind_of_server_is_named_without_its_password(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: str
) -> None:
    monkeypatch.setenv(name, f"http://user:{SECRET}@host")
    with pytest.raises(SettingsError, match=f"{name}: expected the address of {expected}") as error:
        load_settings()
    assert SECRET not in str(error.value)


def test_a_file_that_was_changed_by_hand_stays_and_its_contradictions_are_told(home: Path) -> None:
    file = dagster_home(Settings(home=home)) / "dagster.yaml"
    mine = file.read_text(encoding="utf-8").removeprefix(GENERATED_LINE) + "\n# mine\n"
    file.write_text(mine, encoding="utf-8")
    problems = contradicting_sections(with_workers(home))
    assert file.read_text(encoding="utf-8") == mine
    assert [words.partition("contradicts ")[2].partition(":")[0] for words in problems] == [
        POSTGRES_URL,
        "CAMPUS_BROKER_URL",
    ]
    file.unlink()
    assert contradicting_sections(with_workers(home)) == []


@pytest.mark.parametrize(("module", "old"), [(new, old) for old, new in MOVED_MODULES.items()])
def test_a_changed_file_that_names_a_moved_module_is_refused(home: Path, module: str, old: str) -> None:
    """As 0.1.0 wrote it; Dagster would only say that there is no such module."""
    file = dagster_home(Settings(home=home)) / "dagster.yaml"
    text = file.read_text(encoding="utf-8")
    assert module in text
    file.write_text(text.removeprefix(GENERATED_LINE).replace(module, old) + "\n# mine\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=f"names {old}: replace it by {module}"):
        dagster_home(Settings(home=home))


def test_loads_are_counted_by_their_platform_and_builds_by_their_queue(home: Path) -> None:
    @dg.job
    def load() -> None: ...

    @dg.job(tags=FOR_BUILDS)
    def build() -> None: ...

    coordinator = NamedLaunches()
    coordinator.platform = "school.example"
    with dg.DagsterInstance.ephemeral() as instance:
        coordinator.register_instance(instance)
        tags = {}
        for job in (load, build):
            run_id = instance.create_run_for_job(job, tags=job.tags).run_id
            show_on_timeline(instance, run_id)
            run, daemon = instance.get_run_by_id(run_id), SimpleNamespace(source=None)
            coordinator.submit_run(SimpleNamespace(dagster_run=run, workspace=daemon))
            stored_run = instance.get_run_by_id(run_id)
            assert stored_run is not None
            tags[job.name] = (stored_run.tags.get(PLATFORM_TAG), stored_run.tags.get(QUEUE_TAG, LOAD))
    assert tags == {"load": ("school.example", LOAD), "build": (None, BUILD)}
