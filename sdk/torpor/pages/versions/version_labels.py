"""Reads the versions of an endpoint's models, and moves the labels that point to them."""

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.model_versions import ModelVersions, read_versions

MOVE_WITHIN_S = 660.0
"""A move waits for the load of the version that a label will point to."""


def versions(connection: EndpointConnection, endpoint: str, model: str = "") -> list[ModelVersions]:
    """The versions of one model in each variant; of every model without a name. Raises EndpointRefused,
    EndpointUnreachable."""
    asked = {"endpoint": endpoint, **({"model": model} if model else {})}
    return list(read_versions(connection.json_page(PageName.VERSIONS, asked)))


def move(
    connection: EndpointConnection, endpoint: str, model: str, label: str, version: int | None
) -> list[ModelVersions]:
    """Point the label to a version, or, with None, remove it. It returns once that version answers. Raises
    EndpointRefused with the reason, and then nothing has changed; EndpointUnreachable."""
    return _moved(connection, endpoint, model, label, {} if version is None else {"version": str(version)})


def back(connection: EndpointConnection, endpoint: str, model: str, label: str) -> list[ModelVersions]:
    """Point the label to the version that it had before its last move. Raises as `move`."""
    return _moved(connection, endpoint, model, label, {"back": "true"})


def _moved(
    connection: EndpointConnection, endpoint: str, model: str, label: str, asked: dict[str, str]
) -> list[ModelVersions]:
    query = {"endpoint": endpoint, "model": model, "label": label, **asked}
    return list(read_versions(connection.json_page(PageName.LABELS, query, "POST", MOVE_WITHIN_S)))
