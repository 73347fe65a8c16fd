"""Reads the current state from an endpoint: instances, models, decisions, and SageMaker's own status."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.state import DecisionRow, EndpointState, read_decisions, read_endpoints


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


def statuses(connection: EndpointConnection) -> list[Status]:
    """The status of each endpoint, sorted by name, through SageMaker's API."""
    described = (connection.sagemaker("DescribeEndpoint", EndpointName=name) for name in _listed(connection))
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


ALL_MODELS = 999_999_999


def endpoints(connection: EndpointConnection, most_models: int = ALL_MODELS) -> list[EndpointState]:
    """Every endpoint in service, with so many models of each container, those that were called last. Raises
    EndpointUnreachable."""
    return read_endpoints(connection.json_page(PageName.ENDPOINTS, {"models": str(most_models)}))


def decisions(connection: EndpointConnection, endpoint: str, model: str) -> list[DecisionRow]:
    """The decisions about one model, oldest first. Raises EndpointRefused for an endpoint that is not in service."""
    return read_decisions(connection.json_page(PageName.DECISIONS, {"endpoint": endpoint, "model": model}))
