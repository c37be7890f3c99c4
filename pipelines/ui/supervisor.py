"""`campus ui`: starts, watches and stops a webserver and a daemon."""

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from pipelines.cli.actions.load import order_partitions
from pipelines.cli.command_session import interrupt_on_signals
from pipelines.cli.terminal.display import complain, console, errors
from pipelines.district import programs
from pipelines.runs.child_program import Program, stop
from pipelines.runs.daemon_lock import lock_daemon
from pipelines.settings.options import is_loopback
from pipelines.settings.settings import Settings, no_platform
from pipelines.ui.addresses import is_wildcard

#: Below the home: the logs of the webserver and the daemon.
FOLDER = "ui"
#: Seconds between two checks of the programs, and seconds that they have to stop.
CHECK_SECONDS, STOP_SECONDS = 0.2, 20.0
#: A start moves a log with more bytes aside, and begins a new log.
LOG_BYTES = 5_000_000


def run_ui(settings: Settings, host: str, port: int, *, allow_launch: bool) -> int:
    """Serve the UI until Ctrl-C or SIGTERM, with a daemon unless one runs already. Returns the exit status.

    Raises OSError if the address is taken or the home cannot be written."""
    _check_address(host, port)
    order_partitions(settings)
    webserver = Program(
        "webserver", programs.webserver(host, port, allow_launch), _log(settings, "webserver")
    )
    running = [webserver]
    with interrupt_on_signals():
        try:
            webserver.start()
            lock = lock_daemon(settings)
            if lock is None:
                _say(f"A daemon already runs on {settings.home}: no second one is started.")
            else:
                daemon = Program("daemon", programs.daemon("warning"), _log(settings, "daemon"))
                running.append(daemon)
                daemon.start(pass_fds=(lock,))
                os.close(lock)
            _say("Starting.")
            while webserver.status is None and not _answers(host, port):
                time.sleep(CHECK_SECONDS)
            if webserver.status is None:
                _say_ready(settings, host, port, allow_launch=allow_launch)
            return _watch(running)
        except KeyboardInterrupt:
            _say("Stopping.")
            return 0
        finally:
            stop(running, STOP_SECONDS)


def _watch(running: list[Program]) -> int:
    """Wait until a program ends by itself, and report that program. Returns the exit status."""
    while True:
        for program in running:
            if program.status is not None:
                others = ", ".join(
                    f"The {other.what} is stopped, too." for other in running if other is not program
                )
                complain(
                    f"the {program.what} has ended with status {program.status}: see {program.log}. {others}"
                )
                return 1
        time.sleep(CHECK_SECONDS)


def _say_ready(settings: Settings, host: str, port: int, *, allow_launch: bool) -> None:
    local = "127.0.0.1" if is_wildcard(host) else host
    address = f"http://{f'[{local}]' if ':' in local else local}:{port}"
    _say(f"The UI is on {address} (Ctrl-C stops it). Warnings are in {settings.home / FOLDER}.")
    if settings.embedded:
        _say("The schools are made-up: each run that loads starts the embedded simulator.")
    elif problem := no_platform(settings):
        _warn(f"runs that load fail. {problem}.")
    if not allow_launch:
        _say("It is read-only: --allow-launch lets it start runs.")
    if not is_loopback(host):
        _warn(
            f"it listens on {host} without a login. Whoever reaches the port sees everything"
            f"{' and may start and delete runs' if allow_launch else ''}: see docs/how-to/operate.md."
        )


def _check_address(host: str, port: int) -> None:
    """Raises OSError with a message for the user if the webserver could not listen."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(
            f"the UI cannot listen on {host}, port {port}: {reason}. Name another --host or --port"
        ) from error


def _answers(host: str, port: int) -> bool:
    """Whether the webserver takes connections, which means that all definitions are loaded."""
    local = ("::1" if host == "::" else "127.0.0.1") if is_wildcard(host) else host
    with suppress(OSError), socket.create_connection((local, port), timeout=1):
        return True
    return False


def _log(settings: Settings, name: str) -> Path:
    """The log of a program. Moves a long log of earlier starts aside."""
    log = settings.home / FOLDER / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    return log


def _warn(message: str) -> None:
    errors.print(f"warning: {message}", markup=False, soft_wrap=True)


def _say(message: str) -> None:
    console.print(message, markup=False, soft_wrap=True)
