"""`torpor env`: the environment variables that point boto3, the AWS CLI and the SageMaker SDK to an endpoint."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from torpor.calling.connection import EndpointConnection
from torpor.cli.endpoints import Url, connected
from torpor.cli.sagemaker_files import CONFIG_VARIABLE, METADATA, Identity, Outcome, config_path, put
from torpor.errors import EndpointUnreachable, NotTorpor, TorporError

NO_ROLE = """\
torpor: {path} cannot be written ({reason}): get_execution_role() will fail. Any of these helps:
  - as root, once:  mkdir -p {folder} && echo {text} > {path}
  - where the SDK asks for a role:  role = "{role}"
  - without a role: a Model or an Estimator uses the one in {config}"""


def env(
    url: Url = None,
    sagemaker: Annotated[
        bool, typer.Option("--sagemaker", help="Also write the files that the SageMaker Python SDK reads, v2 or v3.")
    ] = False,
    metadata: Annotated[
        Path, typer.Option(help="Where --sagemaker writes the execution role. The SDK reads the default only.")
    ] = METADATA,
) -> None:
    """Print the exports for a shell: eval "$(torpor env)"."""
    if sagemaker:
        connection = connected(url)
        typer.echo(lines({**connection.environment, **_write_files(connection, metadata)}))
    else:
        typer.echo(exports(_identified(EndpointConnection.configured(url))))


def exports(connection: EndpointConnection) -> str:
    return lines(connection.environment)


def lines(variables: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def _identified(connection: EndpointConnection) -> EndpointConnection:
    """The connection with the endpoint's own region. If nothing answers, it prints a warning: the exports are still
    right."""
    try:
        return connection.identified()
    except (EndpointUnreachable, NotTorpor) as error:
        typer.echo(f"torpor: {error}", err=True)
        return connection


def _write_files(connection: EndpointConnection, metadata: Path) -> dict[str, str]:
    """Write both files, and report them on standard error, since standard output is for the shell."""
    identity = Identity.of(connection.client("sts").get_caller_identity(), connection.region)
    config = config_path()
    _tell(config, _put_config(config, identity))
    try:
        _tell(metadata, put(metadata, identity.metadata))
    except OSError as error:
        text = shlex.quote(identity.metadata.strip())
        places = {"path": metadata, "folder": metadata.parent, "config": config}
        typer.echo(NO_ROLE.format(reason=error.strerror, text=text, role=identity.role, **places), err=True)
    return {CONFIG_VARIABLE: str(config)}


def _put_config(config: Path, identity: Identity) -> Outcome:
    try:
        return put(config, identity.config)
    except OSError as error:
        reason = f"{config} cannot be written ({error.strerror})"
        raise TorporError(f"{reason}: name another folder in XDG_CONFIG_HOME") from error


def _tell(path: Path, outcome: Outcome) -> None:
    typer.echo(f"torpor: {path} is {outcome.value}", err=True)
