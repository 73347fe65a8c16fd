"""`torpor env`: the variables that wire boto3, the AWS CLI and the SageMaker SDK to an endpoint."""

import shlex

import typer

from torpor.cli.edge import Url
from torpor.connection import Connection


def env(url: Url = None) -> None:
    """Print the exports for a shell: eval "$(torpor env)"."""
    typer.echo(exports(Connection.configured(url)))


def exports(connection: Connection) -> str:
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in connection.environment.items())
