"""No password of an address is in what people read, however a message spells it."""

from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.shared.addresses import HIDDEN, without_secrets

PASSWORDS = st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=4, max_size=30)


@given(PASSWORDS, st.sampled_from(["postgresql+psycopg2", "amqp", "rediss"]))
@example("p@ss/w#rd", "amqp")
@example("100%", "amqp")
@example("a:b@c d", "postgresql+psycopg2")
def test_no_password_of_a_url_is_told(password: str, scheme: str) -> None:
    for written in (password, quote(password), quote(password, safe=""), quote_plus(password)):
        address = f"{scheme}://campus:{written}@db.example:5432/campus"
        for form in (password, written, repr(password)[1:-1], quote(password, safe=""), quote_plus(password)):
            told = without_secrets(
                f'could not connect to <{address}>, password <{form}> of user "campus"', address
            )
            assert f"<{form}>" not in told and f":{written}@" not in told
            assert "could not connect to" in told


@given(PASSWORDS)
def test_no_password_of_keywords_is_told(password: str) -> None:
    escaped = password.replace("\\", "\\\\").replace("'", "\\'")
    address = f"host=db.example user=campus password='{escaped}' sslmode=verify-full"
    told = without_secrets(f"FATAL: <{password}> is wrong, see <{escaped}>", address)
    assert f"<{password}>" not in told


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
