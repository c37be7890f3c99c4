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

from assets.dagster_private import open_workspace
from pipelines.cli.session import terminated_as_interrupted
from pipelines.instance import open_instance
from pipelines.settings import Settings, SettingsError, load_settings
from pipelines.ui.addresses import allowed_hosts
from pipelines.ui.guard import guarded

#: Milliseconds between two questions of an open page.
POLL = 2000
#: Of a database: milliseconds that a statement may take, seconds that a connection is kept, and how many
#: connections there may be beside the usual ones. Dagster's own values for its webserver.
STATEMENT_TIMEOUT, POOL_RECYCLE, POOL_OVERFLOW = 15_000, 3_600, 20
#: Seconds that open pages have to end when the webserver stops.
CLOSING = 3


class NoMutations(ASTValidationRule):
    """Refuses each document that changes something. Dagster's own read-only mode lets some mutations pass."""

    def enter_operation_definition(self, node: OperationDefinitionNode, *_: object) -> None:
        """Look at one operation of a document."""
        if node.operation is OperationType.MUTATION:
            self.report_error(GraphQLError("This UI is read-only: start it with --allow-launch", node))


class ReadOnlyWebserver(DagsterWebserver):  # type: ignore[type-arg]
    """Dagster's webserver without mutations."""

    def build_graphql_validation_rules(self) -> Collection[type[ASTValidationRule]]:
        """Add a rule of ours to those of GraphQL."""
        return [*super().build_graphql_validation_rules(), NoMutations]


def check_connections() -> None:
    """Try each connection of a pool before it is used. After a restart of the database, the first statement
    on each old connection fails otherwise, and a launch ends between making a run and queueing it."""

    @event.listens_for(Pool, "checkout")
    def try_it(connection: Any, _record: Any, _proxy: Any) -> None:
        try:
            with closing(connection.cursor()) as cursor:
                cursor.execute("SELECT 1")
        except Exception as error:
            # The pool takes a new connection instead; where there is none, that error is raised.
            raise DisconnectionError from error


def serve(settings: Settings, host: str, port: int, *, allow_launch: bool) -> None:
    """Serve the UI until the process is asked to end.

    Raises SystemExit where the address is taken."""
    with (
        terminated_as_interrupted(),
        open_instance(settings) as instance,
        open_workspace(instance, read_only=not allow_launch) as workspace,
    ):
        check_connections()
        instance.optimize_for_webserver(STATEMENT_TIMEOUT, POOL_RECYCLE, POOL_OVERFLOW)
        kind = DagsterWebserver if allow_launch else ReadOnlyWebserver
        app: ASGIApp = kind(workspace, live_data_poll_rate=POLL).create_asgi_app()
        uvicorn.run(
            guarded(app, allowed_hosts(host, settings.options.ui.hosts)),
            host=host,
            port=port,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=CLOSING,
        )


@click.command()
@click.option("--host", required=True)
@click.option("--port", type=int, required=True)
@click.option("--allow-launch/--read-only", required=True)
def main(host: str, port: int, allow_launch: bool) -> None:
    """Serve the UI for a command that supervises it."""
    try:
        serve(load_settings(), host, port, allow_launch=allow_launch)
    except SettingsError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
