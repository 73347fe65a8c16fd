"""Reads the current state from an endpoint: instances, models, decisions, and SageMaker's own status."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.state import MODELS_MAX, DecisionRow, EndpointState, read_decisions, read_endpoints


@dataclass(frozen=True)
class Status:
    """The status of an endpoint, from DescribeEndpoint."""

    name: str
    status: str
    failure_reason: str = ""


def names(sagemaker: Any) -> list[str]:
    """The names of all endpoints, sorted, through SageMaker's API."""
    pages = sagemaker.get_paginator("list_endpoints").paginate(SortBy="Name", SortOrder="Ascending")
    return [found["EndpointName"] for page in pages for found in page["Endpoints"]]


def statuses(connection: EndpointConnection, most: int | None = None) -> list[Status]:
    """The status of each endpoint, or of the first ones, sorted by name, through SageMaker's API."""
    names = islice(_listed(connection), most)
    described = (connection.sagemaker("DescribeEndpoint", EndpointName=name) for name in names)
    return [
        Status(found["EndpointName"], found["EndpointStatus"], found.get("FailureReason", "")) for found in described
    ]


def _listed(connection: EndpointConnection) -> Iterator[str]:
    """The names of all endpoints, sorted."""
    more: dict[str, str] = {}
    while True:
        page = connection.sagemaker("ListEndpoints", SortBy="Name", SortOrder="Ascending", **more)
        yield from (found["EndpointName"] for found in page["Endpoints"])
        if "NextToken" not in page:
            return
        more = {"NextToken": page["NextToken"]}


def endpoints(
    connection: EndpointConnection, most_models: int = MODELS_MAX, most: int | None = None
) -> list[EndpointState]:
    """Every endpoint in service by name, or the first ones, with so many models of each container, those that were
    called last. Of one endpoint the page lists MODELS_MAX at most. Raises EndpointUnreachable."""
    found: list[EndpointState] = []
    asked = {"models": str(most_models)} | ({} if most is None else {"limit": str(most)})
    after = ""
    while True:
        page = connection.json_page(PageName.ENDPOINTS, asked | ({"after": after} if after else {}))
        found += read_endpoints(page)
        after = page.get("next", "")
        if not after or (most is not None and len(found) >= most):
            return found[:most]


def decisions(connection: EndpointConnection, endpoint: str, model: str) -> list[DecisionRow]:
    """The decisions about one model, oldest first. Raises EndpointRefused for an endpoint that is not in service."""
    return read_decisions(connection.json_page(PageName.DECISIONS, {"endpoint": endpoint, "model": model}))
