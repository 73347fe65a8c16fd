"""`torpor env`: the environment variables that point boto3, the AWS CLI and the SageMaker SDK to an endpoint."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from torpor.calling.caller_keys import LEFT_OVER, TRUSTED
from torpor.calling.connection import EndpointConnection
from torpor.cli.accepted_keys import with_keys, with_unasked_keys
from torpor.cli.asked_endpoint import Url
from torpor.cli.sagemaker_files import CONFIG_VARIABLE, METADATA, Identity, Outcome, config_path, put
from torpor.errors import SPEAKS_HTTPS, EndpointRefused, EndpointUnreachable, IsRouter, NotTorpor, TorporError
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.options import Options

NO_ROLE = """\
torpor: {path} cannot be written ({reason}): get_execution_role() will fail. Any of these helps:
  - as root, once:  mkdir -p {folder} && echo {text} > {path}
  - where the SDK asks for a role:  role = "{role}"
  - without a role: a Model or an Estimator uses the one in {config}"""

FOLDER = (
    "The endpoint's data folder, whose root credential comes before the keys of this shell. "
    f"Without it: the keys of this shell, if the endpoint accepts them; else those of {Options.data_dir}."
)


def env(
    url: Url = None,
    sagemaker: Annotated[
        bool, typer.Option("--sagemaker", help="Also write the files that the SageMaker Python SDK reads, v2 or v3.")
    ] = False,
    data_dir: Annotated[Path | None, typer.Option(help=FOLDER)] = None,
    metadata: Annotated[
        Path, typer.Option(help="Where --sagemaker writes the execution role. The SDK reads the default only.")
    ] = METADATA,
) -> None:
    """Print the exports for a shell: eval "$(torpor env)"."""
    configured = _with_trust(EndpointConnection.configured(url), data_dir or Options.data_dir)
    if sagemaker:
        connection = with_keys(configured.identified(), data_dir)
        typer.echo(script({**connection.environment, **_write_files(connection, metadata)}))
    else:
        typer.echo(exports(_identified(configured, data_dir)))


def _with_trust(connection: EndpointConnection, data_dir: Path) -> EndpointConnection:
    """The connection by https, where the endpoint of the data folder speaks that, with the file to trust it by."""
    trusted = data_dir / TRUSTED
    if not trusted.exists():
        return connection
    secure = connection.url.startswith("https://")
    url = connection.url if secure else connection.url.replace("http://", "https://", 1)
    by_https = replace(connection, url=url, ca_bundle=str(trusted.absolute()))
    try:
        connection.page(PageName.HEALTH)
    except EndpointRefused as refused:
        return by_https if SPEAKS_HTTPS in str(refused) else connection
    except EndpointUnreachable:  # perhaps since its certificate is not trusted otherwise
        return by_https if secure else connection
    return connection


def exports(connection: EndpointConnection) -> str:
    return script(connection.environment)


def script(variables: Mapping[str, str]) -> str:
    """Sets these variables, and removes those of another account that this shell has."""
    foreign = [name for name in LEFT_OVER if name in os.environ and name not in variables]
    return "\n".join([lines(variables), *([f"unset {' '.join(foreign)}"] if foreign else [])])


def lines(variables: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def _identified(connection: EndpointConnection, data_dir: Path | None) -> EndpointConnection:
    """The connection with the endpoint's own region, and with keys. If nothing answers, or a router, it prints a
    warning: the exports are still right."""
    try:
        found = with_keys(connection.identified(), data_dir)
        if found.is_router:
            typer.echo(f"torpor: {IsRouter(found.url, found.control())}", err=True)
        return found
    except (EndpointUnreachable, NotTorpor) as error:
        typer.echo(f"torpor: {error}", err=True)
        return with_unasked_keys(connection, data_dir)


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
