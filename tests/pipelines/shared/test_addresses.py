"""No password of an address is in what people read, however a message spells it."""

import re
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy.exc import OperationalError

from campus.http.events import Event
from pipelines.cli.doctor.servers import examine_services
from pipelines.runs.storage_failures import storage_message
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings, SettingsError, load_settings
from pipelines.shared.addresses import HIDDEN, without_secrets
from pipelines.shared.database import Database

PROBLEM = "could not connect to"
PASSWORDS = st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=4, max_size=30).filter(
    # A message hides the word that is the password, wherever it stands.
    lambda password: password.casefold() not in f"{PROBLEM} <"
)


@given(PASSWORDS, st.sampled_from(["postgresql+psycopg2", "amqp", "rediss"]))
@example("p@ss/w#rd", "amqp")
@example("100%", "amqp")
@example("a:b@c d", "postgresql+psycopg2")
def test_no_password_of_a_url_is_told(password: str, scheme: str) -> None:
    for written in (password, quote(password), quote(password, safe=""), quote_plus(password)):
        address = f"{scheme}://campus:{written}@db.example:5432/campus"
        for form in (password, written, repr(password)[1:-1], quote(password, safe=""), quote_plus(password)):
            message = without_secrets(f'{PROBLEM} <{address}>, password <{form}> of user "campus"', address)
            assert f"<{form}>" not in message and f":{written}@" not in message
            assert PROBLEM in message


@given(PASSWORDS)
def test_no_password_of_keywords_is_told(password: str) -> None:
    escaped = password.replace("\\", "\\\\").replace("'", "\\'")
    address = f"host=db.example user=campus password='{escaped}' sslmode=verify-full"
    message = without_secrets(f"FATAL: <{password}> is wrong, see <{escaped}>", address)
    assert f"<{password}>" not in message


@pytest.mark.parametrize("name", ["password", "sslpassword", "api_key", "token"])
def test_no_secret_of_a_query_is_told(name: str) -> None:
    address = f"postgresql://db.example/campus?{name}=s3%20cret&sslmode=require"
    assert (
        without_secrets("s3 cret, s3%20cret, s3+cret, require", address)
        == f"{HIDDEN}, {HIDDEN}, {HIDDEN}, require"
    )


def test_an_address_without_a_password_changes_nothing() -> None:
    assert (
        without_secrets("no route to db.example", "postgresql://db.example/campus")
        == "no route to db.example"
    )


@given(PASSWORDS, st.sampled_from(["postgresql+psycopg2", "amqp", "rediss"]))
@example("Zzpwd/qq#rd", "amqp")
def test_no_part_of_a_misread_password_is_told(password: str, scheme: str) -> None:
    """A parser ends the password at the first letter that means something else, and quotes the rest as a host
    (in small letters) or a port."""
    address = f"{scheme}://campus:{password}@db.example:5432/campus"
    for part in re.split(r"[@/:#?\[\]\s]", password):
        if len(part) >= 4:
            for quoted in (part, part.lower()):
                message = without_secrets(f"no such host <{quoted}>, or port <{quoted}>", address)
                assert f"<{quoted}>" not in message


@pytest.mark.parametrize(
    "password", ["Zzpwd/qqrst#uvw", "Zzpwd@qqrst/uvw", "Zzpwd[qqrst]uvw", "Zzpwd?qqrst uvw"]
)
def test_drivers_tell_no_part_of_a_password(password: str) -> None:
    """The real drivers, whatever they make of the address."""
    settings = Settings(
        DAGSTER_POSTGRES_URL=SecretStr(f"postgresql+psycopg2://campus:{password}@127.0.0.1:1/campus"),
        broker_url=SecretStr(f"amqp://campus:{password}@127.0.0.1:1/campus"),
        result_url=SecretStr(f"redis://:{password}@127.0.0.1:1/0"),
    )
    findings = list(examine_services(settings))
    assert [finding.good for finding in findings] == [False] * 3
    assert not re.search("zzpwd|qqrst|uvw", str(findings), re.IGNORECASE), findings


def test_notes_of_runs_and_last_words_have_no_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    address = "postgresql+psycopg2://campus:p%40ssword@127.0.0.1:1/campus"
    error = OperationalError(None, None, Exception('no password "p@ssword" in p%40ssword'))
    events: list[Event] = []
    database = Database(address)
    database.notify = events.append
    database.lost(error)
    monkeypatch.setenv(POSTGRES_URL, address)
    words = f"{events} {storage_message(error, tmp_path)}"
    assert words.count(HIDDEN) == 4 and "p@ssword" not in words and "p%40ssword" not in words


def test_keywords_instead_of_a_url_are_refused_without_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(POSTGRES_URL, "host=db.example user=campus password=p4ssword")
    with pytest.raises(SettingsError, match=f"^{POSTGRES_URL}: expected the address of a Postgres") as error:
        load_settings()
    assert "p4ssword" not in str(error.value)


@given(PASSWORDS.filter(lambda password: not re.search(r"[\s;&'\\]", password)))
def test_no_unquoted_keyword_is_told(password: str) -> None:
    message = without_secrets(f"<{password}>", f"host=db.example password={password}")
    assert f"<{password}>" not in message
