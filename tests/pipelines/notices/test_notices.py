"""One message a night, where there is something to do, and one when it is mended; over real HTTP and SMTP."""

import email
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from email.policy import default
from pathlib import Path

import dagster as dg
import pytest
from pydantic import SecretStr

from loading.connection.connected import NOTE
from pipelines.cli.actions.notify import NO_RECIPIENT, run_notify
from pipelines.notices.automation import STATUS, morning_definitions
from pipelines.notices.channels import FORMS, NotSent, mail, post
from pipelines.notices.notice import LONGEST_LINE, MOST_REASONS, SENT_FILE, Notice, due_notice, record_sent
from pipelines.runs.jobs import MORNING
from pipelines.settings.options import Form, MailOptions, NotifyOptions, Options
from pipelines.settings.settings import Settings
from pipelines.status.report import SchoolStatus, Status, status_of
from tests.kits.servers.receivers import Webhook, certificate_of, mail_server, webhook
from warehouse.age import Age
from warehouse.published.problem import note_problem

AT = datetime(2026, 11, 22, 6, 30)
NOTICE_OF = Notice("Campus Warehouse, 2026-11-22 06:30: 1 thing to do", ("Run campus sync.", "学校 101"))
WELL = Status(AT, (), (), ())
NOTHING_LOADED = "Nothing has been loaded yet: run campus sync."


pytestmark = pytest.mark.usefixtures("own_runs")


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with webhook() as opened:
        yield opened


def school(*failures: str) -> SchoolStatus:
    by_reason = {why: [tuple(place.split())] for place, _, why in (line.partition(": ") for line in failures)}
    return SchoolStatus(101, "实验中学", AT, Age(AT), {}, by_reason, {})


def trouble(*to_do: str, at: datetime = AT) -> Status:
    return replace(WELL, at=at, to_do=to_do, schools=(school("grades 101:20: status 500"),))


def told(status: Status, home: Path) -> Notice | None:
    notice = due_notice(status, home)
    if notice is not None:
        record_sent(status, home)
    return notice


def settings_of(home: Path, url: str | None = None, form: Form = "generic", **fields: object) -> Settings:
    secret = SecretStr(url) if url else None
    options = Options(notify=NotifyOptions(form=form, **fields))
    return Settings(home=home, notify_url=secret, options=options)


def test_what_is_to_be_done_is_told_once_a_day_and_again_when_it_is_other(tmp_path: Path) -> None:
    notice = told(trouble("Run campus sync."), tmp_path)
    assert notice is not None
    assert notice.title == "Campus Warehouse, 2026-11-22 06:30: 1 thing to do"
    assert notice.lines == ("Run campus sync.", "School 101 (实验中学): grades 101:20: status 500")
    assert told(trouble("Run campus sync.", at=AT + timedelta(hours=2)), tmp_path) is None
    assert told(trouble("Run campus sync.", at=AT + timedelta(days=1)), tmp_path) is not None
    assert told(trouble("Run campus sync.", "Mend it.", at=AT + timedelta(days=1)), tmp_path) is not None


def test_that_it_is_mended_is_told_once_and_a_good_night_not_at_all(tmp_path: Path) -> None:
    assert told(WELL, tmp_path) is None
    assert told(trouble("Run campus sync."), tmp_path) is not None
    mended = told(replace(WELL, at=AT + timedelta(days=1)), tmp_path)
    assert mended == Notice(
        "Campus Warehouse, 2026-11-23 06:30: all is well again", ("Mended: Run campus sync.",)
    )
    assert told(replace(WELL, at=AT + timedelta(days=2)), tmp_path) is None


def test_many_reasons_are_cut(tmp_path: Path) -> None:
    failures = [f"grades 101:{number}: {number} {'long ' * 200}" for number in range(MOST_REASONS + 3)]
    notice = told(replace(trouble("Mend it."), schools=(school(*failures),)), tmp_path)
    assert notice is not None
    assert len(notice.lines) == 1 + MOST_REASONS + 1
    assert notice.lines[-1] == "and 3 more reasons: campus status"
    assert max(map(len, notice.lines)) == LONGEST_LINE


def test_a_reason_of_many_schools_is_one_line(tmp_path: Path) -> None:
    schools = tuple(replace(school(f"grades {id}:1: status 503"), school_id=id) for id in range(101, 151))
    notice = due_notice(replace(trouble("Mend it."), schools=schools), tmp_path)
    assert notice is not None and len(notice.lines) == 2
    assert notice.lines[1].startswith("50 schools (101, 102, ") and "and 40 more" in notice.lines[1]


def test_what_the_platform_says_in_its_own_words_is_left_out(tmp_path: Path) -> None:
    failed = school("scores 101:20: status 422, the platform says: 学生 张三 无成绩.")
    notice = told(replace(trouble("Mend it."), schools=(failed,)), tmp_path)
    assert notice is not None and "张三" not in notice.text
    assert notice.lines[-1] == "School 101 (实验中学): scores 101:20: status 422"


def test_a_platform_that_was_silent_at_two_is_told_of_at_seven(tmp_path: Path) -> None:
    address, five_hours = "https://school.example", 5 * 3600
    settings = settings_of(tmp_path).model_copy(update={"base_url": address})
    at = time.time() - five_hours
    (tmp_path / NOTE).write_text(json.dumps({"outage": True, "address": address, "since": at, "seen_at": at}))
    silent = "The platform did not answer the last request: campus doctor tries again."
    assert status_of(settings).to_do[0] == silent
    (tmp_path / NOTE).unlink()
    assert status_of(settings).to_do == [NOTHING_LOADED]


def test_a_build_that_was_not_published_is_told_of(tmp_path: Path) -> None:
    note_problem(tmp_path, "dim_teacher_key: 1 row")
    assert status_of(settings_of(tmp_path)).to_do[-1] == (
        "The last build was not published, and campus.duckdb is an older one: dim_teacher_key: 1 row"
    )
    note_problem(tmp_path, "")
    assert status_of(settings_of(tmp_path)).to_do == [NOTHING_LOADED]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("generic", {"title": NOTICE_OF.title, "lines": list(NOTICE_OF.lines)}),
        ("wecom", {"msgtype": "text", "text": {"content": NOTICE_OF.text}}),
        ("dingtalk", {"msgtype": "text", "text": {"content": NOTICE_OF.text}}),
        ("feishu", {"msg_type": "text", "content": {"text": NOTICE_OF.text}}),
    ],
)
def test_each_service_gets_its_form(hook: Webhook, form: Form, expected: object) -> None:
    post(hook.url, form, NOTICE_OF)
    assert hook.received == [expected]


@pytest.mark.parametrize("form", FORMS)
def test_a_long_text_is_cut_to_what_services_take(hook: Webhook, form: Form) -> None:
    post(hook.url, form, Notice("题" * 5000, ()))
    [body] = hook.received
    assert form == "generic" or len(json.dumps(body, ensure_ascii=False).encode()) < 2100


@pytest.mark.parametrize(
    ("form", "answer", "words"),
    [
        ("wecom", (200, b'{"errcode": 93000, "errmsg": "\\u001b[2J key=0f9e8d7c"}'), "(code 93000)"),
        ("feishu", (200, b'{"code": 19001, "msg": "param invalid"}'), "(code 19001)"),
        ("wecom", (200, b'{"errcode": "key=0f9e8d7c"}'), "answers without a code"),
        ("dingtalk", (200, b"[" * 60_000), "answers without a code"),
        ("generic", (200, b"x" * 100_000), "an answer without an end"),
        ("generic", (404, b"no such page"), "status 404"),
        ("dingtalk", (500, b""), "status 500"),
    ],
)
def test_what_a_service_refuses_is_said_without_the_secret_and_is_due_again(
    hook: Webhook,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    form: Form,
    answer: tuple[int, bytes],
    words: str,
) -> None:
    hook.answer = answer
    settings = settings_of(tmp_path, hook.url, form)
    assert run_notify(settings, test=False) == 1
    said = capsys.readouterr()
    assert words in said.err and "0f9e8d7c" not in said.err + said.out
    hook.answer = Webhook("").answer
    assert run_notify(settings, test=False) == 0


def test_a_webhook_that_is_away_is_said_without_the_secret() -> None:
    with webhook() as gone:
        url = gone.url
    with pytest.raises(NotSent, match=r"127\.0\.0\.1 cannot be reached") as error:
        post(url, "generic", NOTICE_OF)
    assert "0f9e8d7c" not in str(error.value)


def test_the_command_tells_over_every_channel_and_once(
    hook: Webhook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mails: list[str] = []
    with mail_server(mails) as port:
        to = MailOptions(
            host="127.0.0.1", port=port, security="none", sender="a@example.org", to=("it@example.org",)
        )
        settings = settings_of(tmp_path, hook.url, mail=to)
        assert run_notify(settings, test=False) == 0
        assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == [
            "Sent to the webhook",
            "Sent to it@example.org",
        ]
        assert run_notify(settings, test=False) == 0
        assert capsys.readouterr().out == "There is nothing to send that was not sent before.\n"
        assert run_notify(settings, test=True) == 0
    assert [body["lines"] for body in hook.received] == [
        [NOTHING_LOADED],
        ["Messages arrive. There is nothing to do."],
    ]
    message = email.message_from_string(mails[0], policy=default)
    assert message["To"] == "it@example.org" and message["Subject"].endswith("1 thing to do")
    assert message.get_content().strip() == NOTHING_LOADED
    assert message["From"] == "a@example.org" and message["Date"].datetime.tzinfo
    ids = [email.message_from_string(text, policy=default)["Message-ID"] for text in mails]
    assert len(set(ids)) == 2 and all(id.endswith("@example.org>") for id in ids)
    assert json.loads((tmp_path / SENT_FILE).read_text())["to_do"] == [NOTHING_LOADED]


def test_a_server_that_offers_no_encryption_gets_no_mail() -> None:
    mails: list[str] = []
    with mail_server(mails) as port:
        to = MailOptions(host="127.0.0.1", port=port, user="it", sender="a@b.example", to=("c@d.example",))
        with pytest.raises(NotSent, match=r"offers no encryption \(STARTTLS\)"):
            mail(to, "pa55", NOTICE_OF)
    assert mails == []


def test_a_server_whose_certificate_is_not_trusted_gets_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = certificate_of("localhost", tmp_path), certificate_of("other.example", tmp_path)
    for certificate, trusted, problem in (
        (own, None, "self-signed certificate"),
        (other, other, "not valid for"),
        (own, own, ""),
    ):
        mails: list[str] = []
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted or tmp_path / "none"))
        with mail_server(mails, certificate) as port:
            to = MailOptions(
                host="localhost", port=port, security="tls", sender="a@b.example", to=("c@d.example",)
            )
            if problem:
                with pytest.raises(NotSent, match=problem):
                    mail(to, None, NOTICE_OF)
            else:
                mail(to, None, NOTICE_OF)
        assert bool(mails) == (not problem)


def test_starttls_verifies_the_server_before_the_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password goes over a verified connection alone, and to no server with another's certificate."""
    own, other = certificate_of("localhost", tmp_path), certificate_of("other.example", tmp_path)
    for certificate, trusted, is_sent in ((own, None, False), (other, other, False), (own, own, True)):
        mails, lines = list[str](), list[str]()
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted or tmp_path / "none"))
        with mail_server(mails, certificate, starttls=True, said=lines) as port:
            to = MailOptions(
                host="localhost", port=port, user="it", sender="a@b.example", to=("c@d.example",)
            )
            if is_sent:
                mail(to, "pa55", NOTICE_OF)
            else:
                with pytest.raises(NotSent, match=r"the certificate of localhost:.* does not hold"):
                    mail(to, "pa55", NOTICE_OF)
        assert bool(mails) == is_sent == any(line.startswith("AUTH") for line in lines)
        assert lines[1] == "STARTTLS"


def test_a_mail_server_that_is_away_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with mail_server([]) as port:
        gone = port
    to = MailOptions(
        host="127.0.0.1", port=gone, security="none", sender="a@example.org", to=("b@example.org",)
    )
    assert run_notify(settings_of(tmp_path, mail=to), test=False) == 1
    assert f"127.0.0.1:{gone} does not take the mail" in capsys.readouterr().err
    assert not (tmp_path / SENT_FILE).exists()


def test_without_a_channel_the_command_says_how_to_set_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_notify(settings_of(tmp_path), test=True) == 2
    assert capsys.readouterr().err.strip() == NO_RECIPIENT


def test_each_morning_the_daemon_says_how_it_stands_and_tells(hook: Webhook, tmp_path: Path) -> None:
    definitions = morning_definitions(settings_of(tmp_path, hook.url))
    schedule = definitions.resolve_schedule_def(MORNING)
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 7 * * *", "Asia/Shanghai")
    with dg.DagsterInstance.ephemeral() as instance:
        job = definitions.resolve_job_def(MORNING)
        assert job.execute_in_process(instance=instance).success
        assert len(hook.received) == 1
        hook.answer = (500, b"")
        (tmp_path / SENT_FILE).unlink()
        assert not job.execute_in_process(instance=instance, raise_on_error=False).success
        # Also where the message was not sent.
        shown = instance.get_latest_materialization_event(STATUS)
        assert shown and shown.asset_materialization
        assert NOTHING_LOADED in str(shown.asset_materialization.metadata["status"].value)


def test_where_nobody_is_to_be_told_the_morning_says_how_it_stands(tmp_path: Path) -> None:
    job = morning_definitions(settings_of(tmp_path)).resolve_job_def(MORNING)
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(instance=instance).success
