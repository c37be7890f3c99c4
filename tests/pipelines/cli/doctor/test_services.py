"""What the doctor says of the servers of a district, and never a secret."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from pipelines.cli.doctor.home import examine_store
from pipelines.cli.doctor.servers import examine_services
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings
from tests.kits.servers.answering import answering
from tests.kits.servers.broker import broker
from tests.kits.servers.object_store import BUCKET, ObjectStore, object_store
from tests.kits.servers.postgres import Postgres, postgres

SECRET = "do-not-tell"


@pytest.fixture(autouse=True)
def _nothing_of_a_district(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(POSTGRES_URL, raising=False)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running_server:
        yield running_server


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as running_store:
        yield running_store


def test_nothing_is_said_of_what_is_not_set() -> None:
    assert list(examine_services(Settings())) == [] and examine_store(Settings()) is None


def test_servers_that_answer_are_well(server: Postgres) -> None:
    with broker() as address:
        settings = Settings(DAGSTER_POSTGRES_URL=SecretStr(server.url), broker_url=SecretStr(address))
        assert [(finding.good, finding.text) for finding in examine_services(settings)] == [
            (True, f"Postgres answers ({POSTGRES_URL})."),
            (True, "The broker answers (CAMPUS_BROKER_URL)."),
        ]


def test_servers_that_are_away_are_named_without_their_passwords() -> None:
    settings = Settings(
        DAGSTER_POSTGRES_URL=SecretStr(f"postgresql+psycopg2://campus:{SECRET}@127.0.0.1:1/campus"),
        broker_url=SecretStr(f"amqp://campus:{SECRET}@127.0.0.1:1/campus"),
        result_url=SecretStr(f"redis://:{SECRET}@127.0.0.1:1/0"),
    )
    findings = list(examine_services(settings))
    assert [finding.text.partition(" names a server that does not answer (")[0] for finding in findings] == [
        POSTGRES_URL,
        "CAMPUS_BROKER_URL",
        "CAMPUS_RESULT_URL",
    ]
    assert {finding.good for finding in findings} == {False}
    assert SECRET not in str(findings)


def test_another_program_on_the_port_is_told_from_silence() -> None:
    with answering(b"[]") as url:
        port = url.rpartition(":")[2]
        settings = Settings(
            DAGSTER_POSTGRES_URL=SecretStr(f"postgresql+psycopg2://campus:{SECRET}@127.0.0.1:{port}/campus"),
            broker_url=SecretStr(f"amqp://campus:{SECRET}@127.0.0.1:{port}/campus"),
            result_url=SecretStr(f"redis://:{SECRET}@127.0.0.1:{port}/0"),
        )
        findings = list(examine_services(settings))
    assert len(findings) == 3 and SECRET not in str(findings)
    for finding in findings:
        assert finding.good is False
        assert " names a server that answers, but not as expected (" in finding.text
        assert "end another program that has taken the port." in finding.text


def test_another_program_is_no_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(b"[]") as url:
        keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ALLOW_HTTP": "true"}
        for name, value in {**keys, "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": url}.items():
            monkeypatch.setenv(name, value)
        finding = examine_store(Settings(lake=f"s3://{BUCKET}/lake"))
    assert finding is not None and finding.good is False
    assert "answers, but not as an object store: check AWS_ENDPOINT_URL" in finding.text


def test_a_store_that_is_there_refuses_or_has_no_such_bucket(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    finding = examine_store(Settings(lake=f"s3://{BUCKET}/lake"))
    assert finding is not None and finding.good, finding
    finding = examine_store(Settings(lake="s3://no-such-bucket/lake"))
    assert finding is not None and not finding.good and "has no such bucket: make it" in finding.text
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    finding = examine_store(Settings(lake=f"s3://{BUCKET}/lake"))
    assert finding is not None and not finding.good and "does not answer" in finding.text
