"""What the doctor says of the servers of a district, and never a secret."""

from collections.abc import Iterator

import pytest
from broker import broker
from object_store import BUCKET, ObjectStore, object_store
from postgres import Postgres, postgres
from pydantic import SecretStr

from pipelines.cli.doctor.services import examine_services, examine_store
from pipelines.instance import POSTGRES_URL
from pipelines.settings import Settings

SECRET = "do-not-tell"


@pytest.fixture(autouse=True)
def _nothing_of_a_district(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(POSTGRES_URL, raising=False)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as one:
        yield one


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as one:
        yield one


def test_nothing_is_said_of_what_is_not_set() -> None:
    assert list(examine_services(Settings())) == [] and examine_store(Settings()) is None


def test_servers_that_answer_are_well(server: Postgres) -> None:
    with broker() as address:
        settings = Settings(DAGSTER_POSTGRES_URL=SecretStr(server.url), broker_url=SecretStr(address))
        assert [(one.good, one.text) for one in examine_services(settings)] == [
            (True, f"Postgres answers ({POSTGRES_URL})."),
            (True, "The broker answers (CAMPUS_BROKER_URL)."),
        ]


def test_servers_that_are_away_are_named_without_their_passwords() -> None:
    settings = Settings(
        DAGSTER_POSTGRES_URL=SecretStr(f"postgresql+psycopg2://campus:{SECRET}@127.0.0.1:1/campus"),
        broker_url=SecretStr(f"amqp://campus:{SECRET}@127.0.0.1:1/campus"),
        result_url=SecretStr(f"redis://:{SECRET}@127.0.0.1:1/0"),
    )
    found = list(examine_services(settings))
    assert [one.text.partition(" names a server that does not answer (")[0] for one in found] == [
        POSTGRES_URL,
        "CAMPUS_BROKER_URL",
        "CAMPUS_RESULT_URL",
    ]
    assert {one.good for one in found} == {False}
    assert SECRET not in str(found)


def test_a_store_that_is_there_refuses_or_has_no_such_bucket(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    found = examine_store(Settings(lake=f"s3://{BUCKET}/lake"))
    assert found is not None and found.good, found
    found = examine_store(Settings(lake="s3://no-such-bucket/lake"))
    assert found is not None and not found.good and "has no such bucket: make it" in found.text
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    found = examine_store(Settings(lake=f"s3://{BUCKET}/lake"))
    assert found is not None and not found.good and "does not answer" in found.text
