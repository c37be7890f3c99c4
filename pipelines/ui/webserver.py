"""Dagster's webserver behind the guard, as a process: `python -m pipelines.ui.webserver`."""

import sys
from collections.abc import Collection
from contextlib import closing
from typing import Any

import click
import uvicorn
from dagster_webserver.webserver import DagsterWebserver
from graphql import ASTValidationRule, GraphQLError, OperationDefinitionNode, OperationType
from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import Pool
from starlette.types import ASGIApp

from assets.shared.dagster_private import open_workspace, sort_steps_in_ui
from pipelines.cli.command_session import interrupt_on_signals
from pipelines.runs.instance import open_instance
from pipelines.settings.settings import Settings, SettingsError, load_settings
from pipelines.ui.addresses import allowed_hosts
from pipelines.ui.guard import guarded

#: Milliseconds between two polls of an open page.
POLL_INTERVAL = 2000
#: Of the database: the statement timeout in milliseconds, the lifetime of a connection in seconds, and the
#: extra connections. Dagster's own values for its webserver.
STATEMENT_TIMEOUT, POOL_RECYCLE, POOL_OVERFLOW = 15_000, 3_600, 20
#: Seconds for open pages to close when the webserver stops.
SHUTDOWN_SECONDS = 3


class NoMutations(ASTValidationRule):
    """Refuses GraphQL mutations. Dagster's own read-only mode lets some mutations pass."""

    def enter_operation_definition(self, node: OperationDefinitionNode, *_: object) -> None:
        """Check an operation of a document."""
        if node.operation is OperationType.MUTATION:
            message = "This UI is read-only: start it with campus ui --allow-launch, behind a login"
            self.report_error(GraphQLError(message, node))


class ReadOnlyWebserver(DagsterWebserver):  # type: ignore[type-arg]
    """Dagster's webserver without mutations."""

    def build_graphql_validation_rules(self) -> Collection[type[ASTValidationRule]]:
        """GraphQL's rules, and NoMutations."""
        return [*super().build_graphql_validation_rules(), NoMutations]


def check_connections() -> None:
    """Test each pooled connection before its use. Otherwise, after a restart of the database, the first
    statement on each old connection fails, and a launch may end after it made a run and before it queued the
    run."""

    @event.listens_for(Pool, "checkout")
    def test_connection(connection: Any, _record: Any, _proxy: Any) -> None:
        try:
            with closing(connection.cursor()) as cursor:
                cursor.execute("SELECT 1")
        except Exception as error:
            # The pool then opens a new connection, or raises the error of that attempt.
            raise DisconnectionError from error


def serve(settings: Settings, host: str, port: int, *, allow_launch: bool) -> None:
    """Serve the UI until the process is told to stop.

    Raises SystemExit if the address is taken."""
    with (
        interrupt_on_signals(),
        open_instance(settings) as instance,
        open_workspace(instance, read_only=not allow_launch) as workspace,
    ):
        check_connections()
        sort_steps_in_ui()
        instance.optimize_for_webserver(STATEMENT_TIMEOUT, POOL_RECYCLE, POOL_OVERFLOW)
        kind = DagsterWebserver if allow_launch else ReadOnlyWebserver
        app: ASGIApp = kind(workspace, live_data_poll_rate=POLL_INTERVAL).create_asgi_app()
        uvicorn.run(
            guarded(app, allowed_hosts(host, settings.options.ui.hosts)),
            host=host,
            port=port,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )


@click.command()
@click.option("--host", required=True)
@click.option("--port", type=int, required=True)
@click.option("--allow-launch/--read-only", required=True)
def main(host: str, port: int, allow_launch: bool) -> None:
    """Serve the UI for the command that supervises this process."""
    try:
        serve(load_settings(), host, port, allow_launch=allow_launch)
    except SettingsError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
