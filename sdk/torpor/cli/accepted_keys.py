"""Chooses the keys that `torpor env` prints, of a data folder or of the shell: the endpoint must accept them."""

from dataclasses import replace
from pathlib import Path

from torpor.calling.caller_keys import UNVERIFIED, AccessKeys, of_data_dir
from torpor.calling.connection import EndpointConnection
from torpor.errors import TorporError
from torpor_endpoint.options import Options


def with_keys(connection: EndpointConnection, named: Path | None) -> EndpointConnection:
    """The connection with the first keys that its endpoint accepts, if it verifies callers.

    The root's keys of a data folder that is named are the only ones tried. Without them the connection's own are tried,
    and then those of the usual folder. Raises TorporError if the endpoint accepts none, or there are none.
    """
    if not connection.verified:
        return connection
    folder = named or Options.data_dir
    refusals = []
    for place, keys in _candidates(connection.keys, folder, is_named=named is not None):
        signed = replace(connection, keys=keys)
        refusal = _refusal(signed)
        if refusal is None:
            return signed
        refusals.append(f"the keys of {place}: {refusal}")
    if refusals:
        raise TorporError(
            f"the endpoint at {connection.url} refuses {'; '.join(refusals)} (name its URL with --url, and its data "
            "folder with --data-dir)"
        )
    raise TorporError(
        f"the endpoint at {connection.url} verifies its callers, and {folder} has no credential: name its data "
        "folder with --data-dir, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )


def with_unasked_keys(connection: EndpointConnection, named: Path | None) -> EndpointConnection:
    """The connection with the keys of the folder that is named, if it has any: for an endpoint that does not answer."""
    keys = of_data_dir(named) if named is not None else None
    return connection if keys is None else replace(connection, keys=keys)


def _candidates(present: AccessKeys, folder: Path, *, is_named: bool) -> list[tuple[str, AccessKeys]]:
    """The keys to try, each with the place where they are from."""
    stored = of_data_dir(folder)
    of_folder = [] if stored is None else [(str(folder), stored)]
    if is_named and of_folder:
        return of_folder
    of_shell = [] if present == UNVERIFIED else [("this shell", present)]
    return of_shell + of_folder


def _refusal(connection: EndpointConnection) -> str | None:
    """Why the endpoint does not accept the connection's keys; None if it does. Every caller has the right to ask."""
    from botocore.exceptions import ClientError

    if connection.is_router:  # it cannot be asked
        return None
    try:
        connection.client("sts").get_caller_identity()
    except ClientError as error:
        fault = error.response["Error"]
        return f"{fault.get('Message')} ({fault.get('Code')})"
    return None
