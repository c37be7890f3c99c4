"""nginx with a sample of deploy/, and applications behind it."""

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp

from tests.kits.waiting import PATIENCE, until_listening

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
NEEDS_NGINX = pytest.mark.skipif(not NGINX or not shutil.which("openssl"), reason="needs nginx and openssl")


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@contextmanager
def served(app: ASGIApp, port: int) -> Iterator[None]:
    """An application at a port while the block lasts."""
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def nginx(folder: Path, sample: Path, name: str, replacements: Mapping[str, str]) -> Iterator[int]:
    """nginx with a sample while the block lasts, with a certificate of its own. Yields its port for TLS.

    Args:
        name: Of the server in the sample, whose certificate has this name.
        replacements: Further texts of the sample, all of which it must have, and what stands for them."""
    assert NGINX
    port, key, certificate = free_port(), folder / "key.pem", folder / "certificate.pem"
    subject = ("-subj", f"/CN={name}", "-keyout", key, "-out", certificate)
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    subprocess.run(["openssl", "req", "-x509", *kind, *subject], check=True, capture_output=True)
    text = sample.read_text(encoding="utf-8")
    for there, replacement in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen [::]:443 ssl;": "",
        f"/etc/ssl/certs/{name}.pem": str(certificate),
        f"/etc/ssl/private/{name}.key": str(key),
        **replacements,
    }.items():
        assert there in text
        text = text.replace(there, replacement)
    whole = folder / "nginx.conf"
    whole.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off;\n{text}\n}}\n"
    )
    command = [NGINX, "-p", str(folder), "-c", str(whole), "-e", str(folder / "error.log")]
    # The workers of a root's nginx are of another user, who may not read these files.
    command += ["-g", "user root;"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(command)
    try:
        until_listening(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)
