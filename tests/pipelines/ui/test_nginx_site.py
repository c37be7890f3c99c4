"""The configuration of nginx for sites gives a user the own folder alone. A stub does the login."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.kits.servers.nginx import NEEDS_NGINX, free_port, nginx, served

ROOT = Path(__file__).parents[3]
SAMPLE, PAGE = ROOT / "deploy" / "nginx-site.conf", ROOT / "docs" / "how-to" / "site.md"
NAME = "pages.school.example"

pytestmark = NEEDS_NGINX


async def _auth(request: Request) -> Response:
    """As oauth2-proxy answers: the user of the cookie, or 401."""
    user = request.cookies.get("session")
    return Response(status_code=202, headers={"X-Auth-Request-Email": user}) if user else Response("", 401)


async def _sign_in(_request: Request) -> Response:
    return PlainTextResponse("sign in", 403)


@pytest.fixture(scope="module")
def auth_port() -> Iterator[int]:
    port = free_port()
    app = Starlette(routes=[Route("/oauth2/auth", _auth), Route("/oauth2/sign_in", _sign_in)])
    with served(app, port):
        yield port


@pytest.fixture(scope="module")
def client(auth_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """nginx with the sample, for two teachers and the head."""
    folder = tmp_path_factory.mktemp("nginx")
    site = folder / "exports" / "site_101"
    for path in ("head/index.html", "class-teacher/50/index.html", "teacher/50/course/7.html"):
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(path)
    (site / "class-teacher" / "51").mkdir()
    (site / "class-teacher" / "51" / "index.html").write_text("class-teacher/51/index.html")
    (site / "class-teacher" / "manifest.csv").write_text("secret")
    (site / "class-teacher" / "50" / "link.html").symlink_to(site / "class-teacher" / "manifest.csv")
    (folder / "teachers.map").write_text('"wang@school.example" "50";\n"li@school.example" "51";\n')
    replacements = {
        "/etc/nginx/campus-site-101.map": str(folder / "teachers.map"),
        "/srv/campus/exports": str(folder / "exports"),
        "127.0.0.1:4180": f"127.0.0.1:{auth_port}",
    }
    with (
        nginx(folder, SAMPLE, NAME, replacements) as port,
        httpx.Client(base_url=f"https://127.0.0.1:{port}/site_101", verify=False) as client,
    ):
        yield client


def shown(client: httpx.Client, path: str, user: str | None, **headers: str) -> tuple[int, str]:
    cookies = {"Cookie": f"session={user}"} if user else {}
    answer = client.get(path, headers={**headers, **cookies})
    return answer.status_code, answer.text if answer.status_code == 200 else ""


@pytest.mark.parametrize(
    ("user", "path", "content"),
    [
        ("wang@school.example", "/class-teacher/50/", "class-teacher/50/index.html"),
        ("wang@school.example", "/class-teacher/50/index.html", "class-teacher/50/index.html"),
        ("wang@school.example", "/teacher/50/course/7.html", "teacher/50/course/7.html"),
        ("li@school.example", "/class-teacher/50/index.html", "class-teacher/51/index.html"),
        ("head@school.example", "/head/index.html", "head/index.html"),
    ],
)
def test_users_get_their_own_folder(client: httpx.Client, user: str, path: str, content: str) -> None:
    assert shown(client, path, user) == (200, content)


@pytest.mark.parametrize(
    ("user", "path"),
    [
        ("li@school.example", "/teacher/50/course/7.html"),
        ("li@school.example", "/head/index.html"),
        ("zhao@school.example", "/class-teacher/50/index.html"),
        ("head@school.example", "/class-teacher/50/index.html"),
        ("wang@school.example", "/class-teacher/manifest.csv"),
        ("wang@school.example", "/class-teacher/50/%2e%2e/51/../manifest.csv"),
        ("wang@school.example", "/class-teacher/50/..%2fmanifest.csv"),
        ("wang@school.example", "/class-teacher/50/link.html"),
        ("wang@school.example", "/"),
    ],
)
def test_users_get_nothing_else(client: httpx.Client, user: str, path: str) -> None:
    assert shown(client, path, user)[0] in (403, 404)


def test_without_a_login_nothing_is_shown(client: httpx.Client) -> None:
    for path in ("/class-teacher/50/index.html", "/head/index.html"):
        assert shown(client, path, None)[0] == 403, "the page to sign in"
        forged = {"X-Auth-Request-Email": "head@school.example"}
        assert shown(client, path, None, **forged)[0] == 403
        assert shown(client, "/head/index.html", "wang@school.example", **forged)[0] == 404


def test_the_page_makes_the_map_of_manifest_and_addresses(tmp_path: Path) -> None:
    for role, id, number in (("class-teacher", 50, "T50"), ("teacher", 50, "T50"), ("teacher", 51, "T51")):
        manifest = tmp_path / "exports" / "site_101" / role / "manifest.csv"
        manifest.parent.mkdir(parents=True, exist_ok=True)
        heading = "role,teacher_id,staff_number,name,folder,classes,courses,students\n"
        before = manifest.read_text() if manifest.exists() else heading
        manifest.write_text(f'{before}{role},{id},{number},"Wang, Li",{id},1,0,2\n')
    (tmp_path / "inputs" / "101").mkdir(parents=True)
    addresses = 'staff number,address\nT50,wang@b.example\nT51,"x"" ""1"\nT52,li@b.example\n'
    (tmp_path / "inputs" / "101" / "readers.csv").write_text(addresses)
    script = PAGE.read_text(encoding="utf-8").partition("<<'EOF'\n")[2].partition("        EOF\n")[0]
    script = textwrap.dedent(script).replace("/srv/campus", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == '"wang@b.example" "50";\n'
