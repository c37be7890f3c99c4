"""What stands in deploy/ is what there is: commands, folders, units that systemd understands."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from pipelines.cli.main import main

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = [file for kind in ("service", "timer") for file in sorted(DEPLOY.glob(f"campus-*.{kind}"))]
BIN = "/opt/campus-warehouse/.venv/bin"
COMMAND = re.compile(r"(?:^Exec\w+=\S*/|[(;&] ?)campus ([^;)&|\n]+)", re.MULTILINE)


@pytest.mark.parametrize("file", [*DEPLOY.glob("*.service"), DEPLOY / "crontab"], ids=lambda file: file.name)
def test_each_command_is_one_that_there_is(file: Path) -> None:
    commands = COMMAND.findall(file.read_text(encoding="utf-8").replace("2>&1", ""))
    assert commands
    for line in commands:
        command: click.Command = main
        context, arguments = click.Context(main), line.split()
        while isinstance(command, click.Group):
            name, *arguments = arguments
            command = command.commands[name]
            context = click.Context(command, parent=context)
        assert command.make_context(context.info_name, arguments, parent=context.parent).args == []


def test_an_install_of_new_code_compiles_its_models() -> None:
    """The user of the units may not write beside the code: each of its processes would compile."""
    command = ["make", "--dry-run", "--assume-old=.venv/installed", "install"]
    dry_run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert ".venv/bin/python -m pipelines.cli.developer.compile_models" in dry_run.stdout.splitlines()


def test_what_follows_a_night_has_time_of_its_own() -> None:
    """systemd ends what ExecStopPost has begun after TimeoutStopSec, and many schools' files take longer."""
    texts = [file.read_text(encoding="utf-8") for file in UNITS]
    following = re.compile(r"^On(?:Success|Failure)=(\S+)$", re.MULTILINE)
    named = {name for text in texts for name in following.findall(text)}
    assert named == {"campus-export.service"} and (DEPLOY / "campus-export.service").exists()
    assert "ExecStopPost=" not in "".join(texts)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    shutil.copytree(DEPLOY, tmp_path, dirs_exist_ok=True)
    for file in tmp_path.rglob("*.service"):
        # Here the code is elsewhere.
        text = file.read_text(encoding="utf-8").replace(BIN, str(Path(sys.executable).parent))
        file.write_text(text, encoding="utf-8")
    units = [tmp_path / file.name for file in UNITS]
    done = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    mine = [line for line in done.stderr.splitlines() if "campus" in line]
    assert (done.returncode, mine) == (0, [])


def test_a_worker_may_take_its_time_to_stop() -> None:
    """What all units have in common would give it a minute: of two files the last by name holds."""
    common = [file.name for file in (DEPLOY / "campus-.service.d").iterdir()]
    [own] = (DEPLOY / "campus-worker@.service.d").iterdir()
    assert max([*common, own.name]) == own.name and "TimeoutStopSec=30min" in own.read_text(encoding="utf-8")


def test_the_receiver_has_a_user_and_a_bound_of_its_own(tmp_path: Path) -> None:
    folder = DEPLOY / "campus-push-receiver.service.d"
    [own] = folder.iterdir()
    assert own.name > max(file.name for file in (DEPLOY / "campus-.service.d").iterdir())
    settings = re.findall(r"^(\w+)=(.*)$", own.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"User": "campus-push", "MemoryMax": "256M"}.items() <= dict(settings).items()
    assert ("EnvironmentFile", "/etc/campus-push.env") in settings
    # Of the home nothing but the folder of the inbox.
    assert [value for _, value in settings if "/srv/campus" in value] == [
        "/srv/campus/pushes:/var/lib/campus-push/pushes"
    ]


@pytest.mark.skipif(not shutil.which("nginx"), reason="needs nginx")
def test_nginx_understands_its_sample(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = f"req -x509 -newkey rsa:2048 -nodes -subj /CN=warehouse.example -keyout {key} -out {certificate}"
    subprocess.run(["openssl", *made.split()], check=True, capture_output=True)
    text = (DEPLOY / "nginx-push.conf").read_text(encoding="utf-8")
    assert {"limit_req ", "allow ", "deny all;"} <= set(re.findall(r"limit_req |allow |deny all;", text))
    for name, file in (("crt", certificate), ("key", key)):
        text = text.replace(f"/etc/nginx/tls/warehouse.example.{name}", str(file))
    config = tmp_path / "nginx.conf"
    config.write_text(f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ {text} }}")
    done = subprocess.run(["nginx", "-t", "-c", config], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_container_has_all_rooms_and_the_page_names_each_file() -> None:
    copied = re.findall(
        r"^COPY (?!--from)(.+) \S+$", (DEPLOY / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    sources = {source for line in copied for source in line.split()}
    assert all((ROOT / source).exists() for source in sources)
    rooms = re.findall(r'"(\w+)\*"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert len(rooms) > 5 and set(rooms) <= sources
    page = (ROOT / "docs" / "how-to" / "operate.md").read_text(encoding="utf-8")
    named = {"crontab", "Containerfile", "nginx-ui.conf", *(unit.name.partition(".")[0] for unit in UNITS)}
    assert {name for name in named if name not in page} == set()
