"""`torpor env`: the environment variables that point boto3, the AWS CLI and the SageMaker SDK to an endpoint."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from torpor.calling.connection import EndpointConnection
from torpor.calling.keys import TRUSTED, UNVERIFIED, of_data_dir
from torpor.cli.endpoints import Url
from torpor.cli.sagemaker_files import CONFIG_VARIABLE, METADATA, Identity, Outcome, config_path, put
from torpor.errors import EndpointRefused, EndpointUnreachable, NotTorpor, TorporError
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.options import Options

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
    data_dir: Annotated[
        Path, typer.Option(help="The endpoint's data folder, which has its root credential if it verifies its callers.")
    ] = Options.data_dir,
    metadata: Annotated[
        Path, typer.Option(help="Where --sagemaker writes the execution role. The SDK reads the default only.")
    ] = METADATA,
) -> None:
    """Print the exports for a shell: eval "$(torpor env)"."""
    configured = _with_trust(EndpointConnection.configured(url), data_dir)
    if sagemaker:
        connection = _with_keys(configured.identified(), data_dir)
        typer.echo(lines({**connection.environment, **_write_files(connection, metadata)}))
    else:
        typer.echo(exports(_with_keys(_identified(configured), data_dir)))


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
        return by_https if "HTTPS" in str(refused) else connection
    except EndpointUnreachable:  # perhaps since its certificate is not trusted otherwise
        return by_https if secure else connection
    return connection


def _with_keys(connection: EndpointConnection, data_dir: Path) -> EndpointConnection:
    """The connection with the root's keys, if its endpoint verifies callers and no others are given. Raises TorporError
    if there are none."""
    if not connection.verified or connection.keys is not UNVERIFIED:
        return connection
    keys = of_data_dir(data_dir)
    if keys is None:
        raise TorporError(
            f"the endpoint at {connection.url} verifies its callers, and {data_dir} has no credential: name its data "
            "folder with --data-dir, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    return replace(connection, keys=keys)


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
